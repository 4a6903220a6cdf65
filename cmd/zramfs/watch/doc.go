// SPDX-License-Identifier: Apache-2.0

// Package watch follows devices over time: what each one holds now, and rates between two looks.
//
// [Take] looks at devices, with the time limit of package devices: a device that does not answer
// gives a [Sample] without figures. A [History] makes a [Point] of each sample, with rates since
// the sample before, and keeps the last points. The live view, the lines for scripts and the
// dashboard show the same points.
//
// Take may be called from several goroutines; a History belongs to one.
package watch
