// SPDX-License-Identifier: Apache-2.0

// Package web serves the dashboard, metrics and health of all devices over HTTP.
//
// A [Sampler] looks at the devices: once a second while a page is open, else every ten seconds. All
// answers come from its last look, or from a new one where that is older than a second, so a device
// that does not answer delays none of them by more than that. The page in static/ is plain
// JavaScript; its charts are drawn by uPlot (LICENSES/uPlot.txt).
//
// A [Server] is used by one goroutine, a Sampler by many.
package web
