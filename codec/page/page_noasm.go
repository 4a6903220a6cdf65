// SPDX-License-Identifier: Apache-2.0

//go:build purego || !amd64

package page

import "github.com/zramfs/zramfs/codec/internal/impl"

var routinesTable = impl.Table[routines]{
	{Set: impl.Generic, F: routines{parse: parseGeneric, decode: decodeGeneric}},
}
