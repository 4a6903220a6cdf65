// SPDX-License-Identifier: Apache-2.0

package image

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// NextData is where the next bytes from off on begin that the image's file holds, or its end.
func NextData(f *os.File, off int64) (int64, error) {
	at, err := f.Seek(off, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return f.Seek(0, io.SeekEnd)
	}
	return at, err
}
