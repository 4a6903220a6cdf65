// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"path/filepath"
	"strconv"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
)

const writebackPage = 4096 // bytes, the unit of writeback_limit

// pathText makes a path absolute: the device looks it up.
func pathText(value string, _ uint64) (string, error) { return filepath.Abs(value) }

func backingOf(path string) string {
	if path == "" {
		return "none"
	}
	return path
}

// writebackOrders sets the limit before it counts.
func writebackOrders(value string, ram uint64) ([]order, error) {
	if value == "none" {
		return []order{{"writeback_limit_enable", "0"}}, nil
	}
	n, err := term.ParseBytes(value, ram)
	return []order{{"writeback_limit", strconv.FormatUint(n/writebackPage, 10)}, {"writeback_limit_enable", "1"}}, err
}

func writebackOf(b status.Backing) string {
	if !b.Limited {
		return "none"
	}
	return term.Size(b.Limit * writebackPage)
}
