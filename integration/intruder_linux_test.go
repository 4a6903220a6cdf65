// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"zramfs/internal/require"
)

// TestIntruder asks the processes of a device as root of a container with the host's network does: it is no other user, sees the names of their sockets, and
// does not see the device. What everybody has in swap is not for it to read or to change, nor a program for it to name.
func TestIntruder(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for line := range strings.Lines(string(text)) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), "@")
		if !ok || !strings.HasPrefix(name, fmt.Sprintf("zramfs/%x", sha256.Sum256([]byte(dir)))) {
			continue
		}
		asked++
		cmd := clientCommand(t.Context(), intruder, "@"+name, dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		if r := runCommand(t, commandTimeout, cmd); r.Code != 0 {
			t.Errorf("%s: %s%s", name, r.Stdout, r.Stderr)
		}
	}
	if asked != 2 {
		t.Errorf("%d sockets, want the keeper's and the worker's", asked)
	}
}

// intruder, in a mount namespace of its own, fails if anything is handed to it or taken from it.
var intruder = register("intruder", func(args []string) error {
	for _, point := range []string{filepath.Dir(data(args[1])), args[1]} {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			return err
		}
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: args[0]})
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("batch", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	if strings.HasSuffix(args[0], "import") {
		_, _, err = c.WriteMsgUnix([]byte{0}, unix.UnixRights(fd), nil)
	} else {
		_, err = c.Write([]byte("{\"image\":true}\n"))
	}
	if err != nil && !errors.Is(err, unix.EPIPE) { // sent away before it has said anything
		return err
	}
	answer, rights := make([]byte, 1000), make([]byte, 100)
	n, m, _, _, err := c.ReadMsgUnix(answer, rights)
	if errors.Is(err, unix.ECONNRESET) {
		return c.Close()
	}
	if m > 0 || bytes.HasPrefix(answer[:n], make([]byte, 16)) {
		return fmt.Errorf("the answer is %q with %d bytes of rights", answer[:n], m)
	}
	return errors.Join(err, c.Close())
})
