// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
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

// bystander starts a process under the name of a keeper that has the secret in its arguments and
// its environment, and ends it after the test.
func bystander(t *testing.T, secret string) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "zramfs")
	if err := os.Symlink(shell, name); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "-c", "read line", "mount", "argument-"+secret)
	cmd.Env = append(os.Environ(), "PASSWORD=environment-"+secret)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the shell ends at the end of its input
		_ = cmd.Wait() // with an error, since it read none
	})
}

// The bundle of doctor names the device and its processes, and has neither what is stored nor
// arguments and environment of processes.
func TestBundleKeepsSecrets(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	const secret = "correct-horse-battery-staple"
	bystander(t, secret)
	dir := mount(t, "--size", "16M")
	fd := int(openData(t, dir, unix.O_DIRECT).Fd())
	page := bytes.Repeat([]byte("page-"+secret+"\n"), pageSize)[:pageSize]
	if err := write(fd, page, 3); err != nil {
		t.Fatal(err)
	}
	mustRead(t, fd, page, 3*pageSize)
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	began := time.Now()
	mustRun(t, time.Minute, "doctor", "--bundle", file)
	t.Logf("the bundle took %v", time.Since(began))
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // read only
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	if at := strings.Index(string(text), secret); at >= 0 {
		t.Errorf("the secret is in the bundle: %q", text[max(0, at-300):at+len(secret)])
	}
	name, err := json.Marshal(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := statusOf(t, dir)
	for _, want := range []string{`"dir": ` + string(name), `"op": "write"`, `"kind": "started"`,
		fmt.Sprintf("processes/keeper-%d/status", s.KeeperPID), fmt.Sprintf("processes/worker-%d/stacks", s.WorkerPID)} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s is not in the bundle", want)
		}
	}
}
