// SPDX-License-Identifier: Apache-2.0

//go:build purego || !(amd64 || arm64)

package lz4

import "github.com/zramfs/zramfs/codec/internal/impl"

var routinesTable = impl.Table[routines]{
	{Set: impl.Generic, F: routines{standard: encodeGeneric, fast: encodeFastGeneric, decode: decodeGeneric}},
}
