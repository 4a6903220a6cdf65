// SPDX-License-Identifier: Apache-2.0

package zramfsd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// libexec is the directory of the program where it is not next to zramfs. Builds set it: go build
// -ldflags "-X github.com/zramfs/zramfs/internal/zramfsd.libexec=/usr/libexec".
var libexec = "/usr/libexec"

// Name is the program's file name.
const Name = "zramfsd"

// Find returns the path of the program: the file next to this one, else the one in the libexec
// directory.
func Find() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", Name, err)
	}
	return find(filepath.Dir(own), libexec)
}

func find(dirs ...string) (string, error) {
	for _, dir := range dirs {
		path := filepath.Join(dir, Name)
		info, err := os.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find %s: %w", Name, err)
		}
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s, the server, is neither in %s nor in %s: install it from the build that zramfs is from", Name, dirs[0], dirs[1])
}
