// SPDX-License-Identifier: Apache-2.0

// Package protect is what a serving process asks of the kernel so that it does not depend on the
// memory that it provides, and what came of it.
//
// Each measure is a [status.Protection] with its outcome. An essential one that failed forbids swap
// on the device ([status.Blocking]):
//
//   - memory: locked, of this process and of the image, and no core dumps
//   - OOM score, PID namespace and control groups, which decide about the end of the process
//     and its reclaim
//   - PR_SET_IO_FLUSHER and the real-time class, so that taking memory does not wait for reclaim
//   - code, threads and heap made present before the first request, and a garbage collector at rest
//   - FUSE request timeouts, with which the kernel would cut the device off
//
// [CheckMachine] finds out beforehand, and changes nothing of the machine.
package protect
