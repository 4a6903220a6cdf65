// SPDX-License-Identifier: Apache-2.0

// Package killpoint names the moments at which a test kills a process whose
// successor carries on from what it leaves. The points are compiled in with the
// build tag invariants or the race detector only: a release build carries no trace
// of them.
//
// The environment variable ZRAMFS_KILL_AT names a file that holds a number N, a
// space and the name of a point. The process that comes to that point for the Nth
// time removes the file and dies by SIGKILL; a later process finds no file and
// lives.
package killpoint
