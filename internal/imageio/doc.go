// SPDX-License-Identifier: Apache-2.0

// Package imageio reads and writes all that a running device stores: it verifies the device's
// pages, exports them to a file and imports them from one. It works on the device's image, through
// package control, and not on the data file.
//
// A runner hands batches of pages to the engines of this machine: the CPU's cores, and GPUs in a
// program built with them. Verify and Export read the image window by window (package store/view).
// An Importer compresses windows of a file and hands the objects to the serving process.
package imageio
