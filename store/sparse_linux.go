// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// nextData is where the next bytes from off on begin that a sparse file holds, or its end.
func nextData(f *os.File, off int64) (int64, error) {
	at, err := f.Seek(off, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return f.Seek(0, io.SeekEnd)
	}
	return at, err
}
