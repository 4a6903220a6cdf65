// SPDX-License-Identifier: Apache-2.0

// Package host reads facts of the machine: capabilities, limits, memory, control groups, mounts,
// namespaces, processes, swap, kernel modules and kernel parameters.
//
// All of them are files, most of them below /proc and /sys. A [Root] is the directory that they lie
// below: / on the machine itself, another one in tests. Nothing is cached, and only
// [Root.WriteSysctl] and [Root.WriteControl] change anything. Functions are safe for concurrent
// use.
package host
