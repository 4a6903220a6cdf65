// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/require"
)

// An extra device that does not tell its keeper, and cannot be unmounted, makes grow fail, and no
// process gets a signal: number 0 would be all processes of this group, the caller's shell among
// them.
func TestGrowUndoneWithoutAKeeper(t *testing.T) {
	require.Root(t)
	dir := t.TempDir()
	further := fusefs.ExtraDir(dir, 1)
	err := errors.Join(os.MkdirAll(further, 0o755), os.MkdirAll(filepath.Join(dir, "control"), 0o755),
		os.WriteFile(filepath.Join(dir, "control/hot_add"), []byte("1\n"), 0o600), unix.Mount("none", further, "ramfs", 0, ""))
	if err != nil {
		t.Fatal(err)
	}
	used, err := os.Create(filepath.Join(further, "used"))
	if err != nil {
		t.Error(err)
	}
	defer func() {
		if err := errors.Join(used.Close(), unix.Unmount(further, unix.MNT_DETACH)); err != nil {
			t.Error(err)
		}
	}()
	group := unix.Getpgrp()
	if err := unix.Setpgid(0, 0); err != nil { // a signal to the group is for this process alone
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setpgid(0, group); err != nil {
			t.Error(err)
		}
	}()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, unix.SIGTERM, unix.SIGWINCH)
	defer signal.Stop(signals)
	u := &Up{Context: t.Context(), Out: &Narration{How: Quiet}, Machine: host.Root(t.TempDir())}
	if err := u.Grow(Device{Dir: dir}); err == nil {
		t.Error("grow has made a device of a directory")
	}
	if err := unix.Kill(unix.Getpid(), unix.SIGWINCH); err != nil {
		t.Error(err)
	}
	if got := <-signals; got != unix.SIGWINCH {
		t.Errorf("the group got %v", got)
	}
}
