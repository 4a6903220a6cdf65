// SPDX-License-Identifier: Apache-2.0

// Package ring serves FUSE over io_uring.
package ring
