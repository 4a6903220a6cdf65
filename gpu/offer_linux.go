// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package gpu

import "github.com/zramfs/zramfs/codec"

// A program that has this engine accepts it as "backend=gpu".
func init() { codec.OfferEngine("gpu") }
