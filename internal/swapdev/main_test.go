// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"fmt"
	"os"
	"testing"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
)

func TestMain(m *testing.M) {
	if helper.Run(os.Args, os.Stdout) { // a function that is tested has started this process
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
