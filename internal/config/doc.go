// SPDX-License-Identifier: Apache-2.0

// Package config reads the configuration of devices: /etc/zramfs.conf and its drop-ins, in the
// grammar of zram-generator.
//
// [Load] finds the files, reads all of them, and returns a [Config]: a [Section] for each device,
// with the [Setting] that is in effect for each key and the place where it is written, and every
// [Problem] that it found. A line with a problem sets nothing. Sizes may be expressions of the
// memory of the machine, which [Evaluate] computes.
//
// The caller names the flags that may be keys, and checks the values: this package knows no value
// but a size expression. Functions are safe for concurrent use; nothing is cached.
package config
