// SPDX-License-Identifier: Apache-2.0

// Package integration drives the built program against the real kernel: FUSE
// mounts, loop devices and file systems, in user namespaces and as root.
//
// It has tests only. Two hazards: a process that waits for a request of a mount whose server does
// not answer cannot go on, so every access to a mount is made in a process that is killed in time:
// a client, or the test itself in a process of its own (apart and inUserNS). And nothing may stay
// behind: mount removes what it made, the leak check at the end of TestMain fails the package for
// leftovers, and a janitor process removes the leftovers of a test process that died.
//
// Tests run one after the other, since most look at what the machine has of devices. Those that
// only wait, and use neither swap nor the environment, are parallel: they run at the end, together.
package integration
