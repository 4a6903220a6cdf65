// SPDX-License-Identifier: Apache-2.0

// Package top is the live view of devices: a screen of a terminal that is drawn again at each look.
//
// A model holds what was seen and what the keys have chosen; draw puts it on a canvas of cells of
// any size, without a terminal. [Run] copies the canvas to a screen of tcell, which writes the
// cells that have changed. Looks are made by another goroutine: a device that does not answer keeps
// neither the keys nor the end waiting.
package top
