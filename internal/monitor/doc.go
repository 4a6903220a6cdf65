// SPDX-License-Identifier: Apache-2.0

// Package monitor follows devices over time, and names what is measured of them.
//
// [Take] looks at devices, with the time limit of package swapdev: a device that does not answer
// gives a [Sample] without figures. A [History] makes a [Point] of each sample, with rates since
// the sample before, and keeps the last points. The live view, the lines for scripts and the
// dashboard show the same points.
//
// [Metrics] is the list of names as Prometheus' conventions have them: prefix zramfs, base units,
// numerators and denominators in place of ratios. [Of] gives the values. The exposition, the
// dashboard's alert rules and docs/monitoring.md follow the list, so that a name stands in one
// place.
//
// Take may be called from several goroutines; a History belongs to one. Everything else is a plain
// value or a pure function.
package monitor
