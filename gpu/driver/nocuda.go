// SPDX-License-Identifier: Apache-2.0

//go:build !cuda || !linux || !(amd64 || arm64)

package driver

// CUDA loads libcuda, in programs built with the tag cuda.
func CUDA() (*Driver, error) { return nil, ErrNotBuilt }
