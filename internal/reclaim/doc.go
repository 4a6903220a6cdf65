// SPDX-License-Identifier: Apache-2.0

// Package reclaim has control groups give up memory that their programs hardly use, so that idle
// pages are in swap before the machine is short.
//
// It asks the kernel by memory.reclaim of cgroup v2 (Linux 5.19) for a small part of a group's
// memory at a time, and looks for how long its tasks wait: for memory, or for files that were
// dropped. The longer they wait, the less it asks for, and nothing beyond a limit. That is the
// control loop of Meta's senpai, with its published numbers (facebookincubator/senpai and oomd;
// Weiner et al., TMO: Transparent Memory Offloading in Datacenters, ASPLOS 2022).
//
// [Policy.Next] decides, and [Reclaimer] reads and asks.
package reclaim
