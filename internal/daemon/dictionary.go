// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/internal/control"
)

// dictionaryVariable names, in a worker's environment, the descriptor of the device's dictionary.
// The file that it was read from may be gone or changed by now, and stored pages need the
// dictionary that the device was made with.
const dictionaryVariable = "ZRAMFS_DICTIONARY_FD"

// passDictionary passes the dictionary to a worker that cmd will start, behind all other
// descriptors. The variable in our own environment is not passed on.
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

// WorkerDictionary returns the dictionary that the keeper passed to this worker. It is nil where
// the device has none. A second call fails.
func WorkerDictionary() ([]byte, error) {
	text := os.Getenv(dictionaryVariable)
	if text == "" {
		return nil, nil
	}
	fd, err := strconv.ParseUint(text, 10, 31)
	if err != nil || fd < locksFD {
		return nil, fmt.Errorf("%s is %q: want a descriptor", dictionaryVariable, text)
	}
	f := os.NewFile(uintptr(fd), "dictionary")
	data, err := control.ReadDictionary(f)
	return data, errors.Join(err, f.Close())
}
