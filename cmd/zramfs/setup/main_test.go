// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"os"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/aside"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// recordDir is where records lie on a machine.
const recordDir = "run/zramfs"

func TestMain(m *testing.M) {
	if aside.Run(os.Args, os.Stdout) { // a function that is tested has started this process
		os.Exit(0)
	}
	if dir := os.Getenv(hideDir); dir != "" {
		if err := hideData(dir, []string{"/dev/loop3", "/dev/loop4"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if root := os.Getenv(tuneRoot); root != "" {
		if err := playTune(os.Args[1], host.Root(root)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
