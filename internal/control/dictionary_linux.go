// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
)

// DictionaryFile returns a sealed memfd with the dictionary of a, nil where it has none. Each
// reader gets a file of its own: the keeper's copy lies in locked memory, which a file would not.
func DictionaryFile(a codec.Algorithm) (*os.File, error) {
	data := a.Dictionary()
	if data == nil {
		return nil, nil
	}
	fd, err := unix.MemfdCreate("zramfs-dictionary", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "memfd:zramfs-dictionary")
	_, err = f.Write(data)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the dictionary: %w", err), f.Close())
	}
	return f, nil
}

// ReadDictionary reads the file that DictionaryFile has made, whatever the offset of f is.
func ReadDictionary(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, codec.MaxDictionary+1))
	if err != nil {
		return nil, fmt.Errorf("read the device's dictionary: %w", err)
	}
	return data, nil
}
