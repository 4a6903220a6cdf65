// SPDX-License-Identifier: Apache-2.0

// Package bundle collects what a bug report needs: the JSON of our own commands, facts of the
// machine, and what the kernel tells of the processes that keep and serve devices. It takes no
// contents of pages, no environment, no arguments of processes and no host name.
package bundle
