// SPDX-License-Identifier: Apache-2.0

// Package generator writes what systemd needs to start the devices of a configuration at boot, as
// systemd.generator(7) describes it.
//
// [Write] makes, for each [Device], a link that has swap.target want an instance of the unit
// zramfs@.service, a drop-in with what that has to wait for, and the name by which zram-generator's
// users know a device. [WantedBy] and [Container] say what the kernel's command line asks for, and
// whether systemd runs in a container. Nothing is kept between calls.
package generator
