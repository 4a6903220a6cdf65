// SPDX-License-Identifier: Apache-2.0

//go:build purego || !(amd64 || arm64)

package pagescan

import "github.com/zramfs/zramfs/codec/internal/impl"

var repeatsTable = impl.Table[repeatsFunc]{{Set: impl.Generic, F: repeatsGeneric}}

var countTable = impl.Table[countFunc]{{Set: impl.Generic, F: countGeneric}}
