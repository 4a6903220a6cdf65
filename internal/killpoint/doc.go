// SPDX-License-Identifier: Apache-2.0

// Package killpoint names the moments at which a process may die and somebody
// else has to carry on with what it leaves. Tests have it die there: compiled in
// are the points with the build tag invariants, or the race detector, only. A
// release build carries no trace of them.
//
// A program with points dies by SIGKILL where the file that the environment
// variable ZRAMFS_KILL_AT names says so: in it stand a number and, behind a space,
// the name of a point. The process that comes to that point for the so-manieth
// time removes the file and dies; a later process, which finds none, does not.
package killpoint
