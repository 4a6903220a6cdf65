// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
)

// dictionaryVariable names, in a worker's environment, the descriptor that it finds the device's
// dictionary at. The file that this was read from may have gone since the device was made, or be
// another one: the pages that are stored need what their keeper has.
const dictionaryVariable = "ZRAMFS_DICTIONARY_FD"

// dictionaryFile makes a file in memory of an algorithm's dictionary, which nobody can change; nil
// where there is none. It is made for each who needs it, since the keeper's own copy lies in locked
// memory, and a file would not.
func dictionaryFile(a codec.Algorithm) (*os.File, error) {
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

// readDictionary reads what dictionaryFile has made, wherever the descriptor stands.
func readDictionary(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, codec.MaxDictionary+1))
	if err != nil {
		return nil, fmt.Errorf("read the device's dictionary: %w", err)
	}
	return data, nil
}

// passDictionary lets a worker that is to be started have the dictionary, behind all other
// descriptors. What our own environment says of one is not its.
func passDictionary(cmd *exec.Cmd, dictionary *os.File) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, dictionaryVariable+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if dictionary != nil {
		cmd.Env = append(cmd.Env, dictionaryVariable+"="+strconv.Itoa(orderFD+len(cmd.ExtraFiles)))
		cmd.ExtraFiles = append(cmd.ExtraFiles, dictionary)
	}
}

// WorkerDictionary is the dictionary that a worker was given by its keeper; nil where the device
// has none, or its keeper is of a version that gives none. It can be asked once.
func WorkerDictionary() ([]byte, error) {
	text := os.Getenv(dictionaryVariable)
	if text == "" {
		return nil, nil
	}
	fd, err := strconv.ParseUint(text, 10, 31)
	if err != nil || fd < holderFD {
		return nil, fmt.Errorf("%s is %q: want a descriptor", dictionaryVariable, text)
	}
	f := os.NewFile(uintptr(fd), "dictionary")
	data, err := readDictionary(f)
	return data, errors.Join(err, f.Close())
}
