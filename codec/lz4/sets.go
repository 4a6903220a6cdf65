// SPDX-License-Identifier: Apache-2.0

package lz4

import "github.com/zramfs/zramfs/codec/internal/impl"

// A Set names the instructions that code needs: "avx512", "avx2", "neon" or "generic", which is
// plain Go. [Sets] lists those that there is code for; the environment variable ZRAMFS_DISABLE
// switches some off. A constant string is one.
type Set = impl.Set

// ErrUnavailable reports a [Set] that does not exist, that this machine lacks, or that was switched
// off.
var ErrUnavailable = impl.ErrUnavailable
