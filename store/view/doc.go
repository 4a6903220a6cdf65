// SPDX-License-Identifier: Apache-2.0

/*
Package view reads the memory image of a live device from another process, for
export, verify and import. It takes no lock, writes nothing, and takes no memory
for the image.

A View reads a Window of pages in two steps: Look (or Survey.Next) says what the
entries of the pages refer to, and Fetch copies the objects and proves each by its
checksum. A Survey goes through all pages in the order in which their objects lie.
*/
package view
