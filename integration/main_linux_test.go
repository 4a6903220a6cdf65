// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// root is the directory of this run: every mount point, every file and the program itself lie below
// it, so that leftovers can be told from other programs' files. TestMain sets it.
var root string

func TestMain(m *testing.M) {
	if name := os.Getenv(clientVariable); name != "" {
		os.Exit(playClient(name, os.Args[1:]))
	}
	os.Exit(mainCode(m))
}

func mainCode(m *testing.M) (code int) {
	stop, err := begin()
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare:", err)
		return 1
	}
	before, err := look()
	if err != nil {
		fmt.Fprintln(os.Stderr, "look at the machine:", err)
		return 1
	}
	code = m.Run()
	for _, leak := range before.leaks() {
		fmt.Fprintln(os.Stderr, "left behind:", leak)
		code = 1
	}
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = 1
	}
	return code
}

// begin makes the directory of the run and starts the janitor. Any user may
// enter the directory, since programs in it are run by several.
func begin() (stop func() error, err error) {
	if root, err = os.MkdirTemp("/tmp", "zramfs-test-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(root, 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		return nil, err
	}
	return startJanitor()
}
