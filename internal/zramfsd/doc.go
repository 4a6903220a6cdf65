// SPDX-License-Identifier: Apache-2.0

// Package zramfsd has the command line of the server, zramfsd, in both directions: where the
// program is ([Find]), what it is started with ([Config.Args]), what that means ([Parse]), and how
// the command or a keeper that starts it learns whether the device is ready ([Start]).
//
// A device has two processes of the program: the keeper, which the command line starts, and the
// worker, which the keeper starts. A third, which up starts, holds ballast; see package ballast.
//
// Values are plain. Functions are safe for concurrent use.
package zramfsd
