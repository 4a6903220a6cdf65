// SPDX-License-Identifier: Apache-2.0

//go:build purego || !amd64

package page

import "github.com/zramfs/zramfs/codec/internal/impl"

var denseTable = impl.Table[denseRoutines]{
	{Set: impl.Generic, F: denseRoutines{parse: parseDenseGeneric, write: writeGeneric, read: readGeneric, decode: decodeGeneric, cluster: decodeClusterGeneric}},
}
