// SPDX-License-Identifier: Apache-2.0

// Package guest boots virtual machines for tests: a kernel of Debian under qemu, with what a test
// puts into its root file system, and an agent in it that runs commands. It shows what the machine
// of the tests cannot: memory that is short as a whole, init's children, control groups of cgroup
// v2, suspend, shutdown.
//
// A machine needs no right on the host. Without KVM it runs some tens of times slower, so
// that times measured in it say nothing; ratios between two measurements in one machine do.
//
// tools/get-guest.sh brings the kernel. Every wait is bounded: a machine that does not boot, or
// does not answer in time, fails the test, which then prints the end of the machine's console.
//
// The first serial port is the console, with the messages of the kernel; the agent talks over the
// second.
package guest
