// SPDX-License-Identifier: Apache-2.0

// Package figures names what is measured of a device, as Prometheus' conventions have it: prefix
// zramfs, base units, numerators and denominators in place of ratios. [Metrics] is the list, [Of]
// gives the values. The exposition, the dashboard's alert rules and docs/monitoring.md follow the
// list, so that a name stands in one place.
//
// Everything here is a plain value or a pure function, and safe for concurrent use.
package figures
