// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// A copier is a shell in a mount namespace of its own, with a copy of each mount. It reads commands
// from its standard input.
type copier struct {
	to   io.WriteCloser
	said *bufio.Reader
}

func startCopier(t *testing.T) *copier {
	t.Helper()
	cmd := exec.Command("unshare", "-m", "--propagation", "private", "sh")
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		_ = to.Close() // the shell may have ended
		_ = cmd.Wait() // with the status of its last command
		limit.Stop()
	})
	c := &copier{to, bufio.NewReader(out)}
	c.do(t, ":")
	return c
}

// do has the shell carry out a command and returns what it printed.
func (c *copier) do(t *testing.T, command string) (printed string) {
	t.Helper()
	if _, err := io.WriteString(c.to, command+"; echo done\n"); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := c.said.ReadString('\n')
		if line == "done\n" {
			return printed
		}
		if printed += line; err != nil {
			t.Fatalf("%s: %v: %s", command, err, printed)
		}
	}
}

// hot_remove ends a device whose mounts another namespace has copied.
func TestHotRemoveWithCopies(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Command(t, "unshare")
	dir := mount(t, "--size", "16M")
	name := addDevice(t, dir)
	keeper := statusOf(t, filepath.Join(dir, "devices", name)).KeeperPID
	startCopier(t)
	if got := answerTo(filepath.Join(dir, "control/hot_remove"), strings.TrimPrefix(name, "zram")); got != "1 bytes" {
		t.Errorf("hot_remove: %s", got)
	}
	if !waitEnd(keeper, answerTimeout) {
		t.Errorf("keeper %d lives on", keeper)
	}
}

// umount ends a device whose mounts other namespaces have copied, as those of containers and
// confined services do, once none of them uses it.
func TestUmountWithCopies(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Command(t, "unshare")
	for _, inUse := range []time.Duration{0, 2 * time.Second} {
		dir := filepath.Join(tempDir(t), "zram")
		f := startServe(t, dir, "--size", "16M")
		c := startCopier(t)
		if inUse > 0 {
			c.do(t, "exec 3<"+data(dir))
		}
		begun := time.Now()
		released := make(chan struct{})
		time.AfterFunc(inUse, func() {
			defer close(released)
			if inUse > 0 {
				c.do(t, "exec 3<&-")
			}
		})
		mustRun(t, commandTimeout, "umount", dir)
		took := time.Since(begun)
		<-released
		if took < inUse || took > inUse+10*time.Second {
			t.Errorf("umount took %s with a copy that is in use for %s", took, inUse)
		}
		if got := c.do(t, "cat "+dir+"/block/zram0/disksize"); !strings.HasPrefix(got, "cat: ") {
			t.Errorf("the copy has %q", got)
		}
		f.log.wait(t, "ended for the other mount namespaces, which have copies")
		if inUse > 0 {
			f.log.wait(t, "unmounted here, but other mount namespaces have copies")
		}
		if !f.waitEnd() {
			t.Errorf("the keeper %d lives on", f.pid)
			f.kill(t)
		}
	}
}

// An attribute that is open stays readable when the keeper ends its device: no other namespace has
// a copy of the mount.
func TestOpenAttributeOutlivesItsMount(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	f, attribute := openAttribute(t)
	f.signal(t, unix.SIGTERM)
	time.Sleep(time.Second) // more than the keeper leaves a copied mount
	if points, err := mountsBelow(f.dir); err != nil || len(points) > 0 {
		t.Errorf("left mounted: %v, %v", points, err)
	}
	if got, err := io.ReadAll(attribute); err != nil || string(got) != "16777216\n" {
		t.Errorf("the attribute has %q, %v", got, err)
	}
	if err := attribute.Close(); err != nil {
		t.Error(err)
	}
	if !f.waitEnd() {
		t.Errorf("the keeper %d lives on", f.pid)
		f.kill(t)
	}
}

// openAttribute serves a device and opens one of its attributes.
func openAttribute(t *testing.T) (*foreground, *os.File) {
	t.Helper()
	f := startServe(t, filepath.Join(tempDir(t), "zram"), "--size", "16M")
	attribute, err := os.Open(filepath.Join(f.dir, "block/zram0/disksize"))
	if err != nil {
		t.Fatal(err)
	}
	return f, attribute
}

// An attribute that is never closed keeps its process for ten seconds, and no longer.
func TestOpenAttributeDelaysTheEnd(t *testing.T) {
	t.Parallel()
	require.Root(t)
	require.FUSE(t)
	f, attribute := openAttribute(t)
	begun := time.Now()
	f.signal(t, unix.SIGTERM)
	ended := f.waitEnd()
	if took := time.Since(begun); !ended || took < 9*time.Second {
		t.Errorf("the keeper %d ended after %v: %v", f.pid, took, ended)
	}
	f.kill(t)
	_ = attribute.Close() // nothing serves it
}
