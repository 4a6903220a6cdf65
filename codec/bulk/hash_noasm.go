// SPDX-License-Identifier: Apache-2.0

//go:build purego || !amd64

package bulk

import "github.com/zramfs/zramfs/codec/internal/impl"

var hashTable = impl.Table[hashFunc]{{Set: impl.Generic, F: hashGeneric}}
