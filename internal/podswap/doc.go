// SPDX-License-Identifier: Apache-2.0

// Package podswap knows how much swap the containers of a node may use: the kubelet's rules for
// LimitedSwap, and the control groups that hold the limits.
package podswap
