// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package impl

// pure says whether the build tag purego is set.
const pure = false
