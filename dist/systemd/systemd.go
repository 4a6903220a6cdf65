// SPDX-License-Identifier: Apache-2.0

// Package systemd has the unit of systemd that packages install, for programs that place it
// themselves.
package systemd

import _ "embed" // for Unit

// Unit is the text of the template zramfs@.service.
//
//go:embed zramfs@.service
var Unit string
