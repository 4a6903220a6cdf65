// SPDX-License-Identifier: Apache-2.0

// Package pmqos keeps the machine's processors from halting while page faults wait for them.
//
// A page fault through a device waits for three or four threads, one after the other, and often on
// another processor. A virtual processor that has halted takes 10 to 160 us to answer, since the
// hypervisor has to schedule it; one that polls takes two to six. A process that holds a PM QoS
// request of zero (/dev/cpu_dma_latency, Documentation/power/pm_qos_interface.rst of the kernel)
// makes idle processors poll. That costs the host the time of all idle processors, so a [Holder]
// holds the request only while it pays; [Policy] has the rule.
//
// The kernel drops the request with the last descriptor of the file: a killed process leaves
// nothing behind.
package pmqos
