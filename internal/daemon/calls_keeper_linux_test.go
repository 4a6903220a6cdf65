// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/callfail"
	"github.com/zramfs/zramfs/internal/status"
)

// TestCallsOfKeeperFail has each system call fail by which a keeper makes its device and ends it:
// it returns why there is no device, or logs what it goes on without, and leaves nothing.
func TestCallsOfKeeperFail(t *testing.T) {
	if !alone(t) {
		return
	}
	var all strings.Builder
	eachCall(t, func(n int) string { return keeperCallFails(t, n, &all) })
	for _, want := range []string{
		"create memory file: ", "open mount point DIR: ", "lock mount point DIR: ", "mount DIR: open /dev/fuse: ", "mount DIR/dev: ",
		"WARN msg=\"a new worker may wait for the program's file: open ", "WARN msg=\"replacing a worker may wait for memory: ",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no call that failed led to %q:\n%s", want, all.String())
		}
	}
}

// keeperCallFails makes a device and ends it, with one call failing.
func keeperCallFails(t *testing.T, n int, all *strings.Builder) (failed string) {
	dir := filepath.Join(t.TempDir(), "zram")
	said, err := os.CreateTemp(t.TempDir(), "said")
	if err := errors.Join(err, os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	defer func(args []string, was *os.File) { os.Args, os.Stderr = args, was }(os.Args, os.Stderr)
	os.Args, os.Stderr = []string{"", "keep", dir, "1048576"}, said
	cfg, err := wholeConfig()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	announced := false
	cfg.OnReady = func(*status.Report) error {
		announced = true
		end()
		return nil
	}
	var failure error
	failed = callfail.Nth(t, n, unix.EIO, func() { failure = Run(ctx, cfg, nil) })
	lines, err := os.ReadFile(said.Name())
	if err != nil {
		t.Fatal(err)
	}
	text := string(lines)
	if failure != nil {
		text += failure.Error()
	}
	all.WriteString(strings.ReplaceAll(text, dir, "DIR") + "\n")
	logged := func(what string) bool { return strings.Contains(text, "level=INFO msg="+what) }
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("with %q failing mounts are left: %v", failed, err)
	}
	var start *status.StartError
	if failure != nil && (failed == "" || announced || logged("ready") || !errors.As(failure, &start) || !errors.Is(failure, unix.EIO)) {
		t.Errorf("with %q failing, and announced %v, it ends by %v:\n%s", failed, announced, failure, text)
	}
	_, err = os.Stat(dir)
	if failure == nil && (!announced || !logged("ready") || !logged("unmounted") || !logged("\"ended well\"") || !errors.Is(err, fs.ErrNotExist)) {
		t.Errorf("with %q failing, and announced %v, it ends; the directory: %v\n%s", failed, announced, err, text)
	}
	if left := leftOpen(orderFD); len(left) > 0 {
		t.Errorf("with %q of call %d failing there is left %q", failed, n, left)
	}
	return failed
}
