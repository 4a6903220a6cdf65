// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/onhost"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// programs is the directory of zramfs on a node. up makes the one above it too.
const programs = "/run/zramfs/programs"

// Exit codes of zramfs status.
const (
	codeOK         = 0
	codeDegraded   = 1
	codeNotRunning = 3
)

// CodeNotInstalled is the exit code of zramfs node zramfs where the node does not have zramfs, as
// shells have it.
const CodeNotInstalled = 127

// errNotInstalled is the error of a command that found no zramfs on the node.
var errNotInstalled = errors.New("zramfs is gone from the node")

// patience is how long a command that was told to end may take for it.
const patience = 30 * time.Second

// A node runs commands of zramfs on the node, whose output goes to out and warn. Its methods may be
// called by one goroutine at a time.
type node struct {
	dir       string // of the device
	out, warn io.Writer
}

// Zramfs replaces this process by the zramfs of the node. It returns only if that fails. Commands
// that make a device leave the pod, whose end would be that of the device.
func Zramfs(args []string) error {
	start := onhost.Exec
	if len(args) > 0 && slices.Contains([]string{"up", "mount"}, args[0]) {
		start = onhost.ExecOutside
	}
	return start(filepath.Join(onhost.Programs(programs), "zramfs"), args...)
}

// command prepares a run of zramfs on the node, which is asked to end when ctx does.
func (n node) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{"node", "zramfs"}, args...)...)
	cmd.Stdout, cmd.Stderr = n.out, n.warn
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	return cmd
}

// run runs zramfs on the node to its end. The error for an exit code is a *Failed.
func (n node) run(ctx context.Context, args ...string) error {
	return failed(args[0], n.command(ctx, args...).Run())
}

func failed(command string, err error) error {
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.Exited() {
		return &Failed{Command: command, Code: ended.ExitCode()}
	}
	return err
}

// A state is what status says of the device.
type state struct {
	running bool
	healthy bool
	worker  int      // process that serves, 0 for none
	what    []string // is wrong
}

// look asks for the state of the device.
func (n node) look(ctx context.Context) (s state, err error) {
	var text bytes.Buffer
	cmd := n.command(ctx, "status", "--json", n.dir)
	cmd.Stdout = &text
	err = failed("status", cmd.Run())
	var f *Failed
	switch {
	case errors.As(err, &f) && f.Code == codeNotRunning:
		return s, nil
	case errors.As(err, &f) && f.Code == CodeNotInstalled:
		return s, errNotInstalled
	case errors.As(err, &f) && f.Code == codeDegraded:
	case err != nil:
		return s, err
	}
	return parseState(text.Bytes())
}

// parseState reads the JSON of status.
func parseState(text []byte) (s state, err error) {
	var said struct {
		Devices []struct {
			Health   string `json:"health"`
			Problems []struct {
				What string `json:"what"`
			} `json:"problems"`
			Status *struct {
				Worker int `json:"worker_pid"`
			} `json:"status"`
		} `json:"zramfs"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return s, fmt.Errorf("read the answer of zramfs status: %w", err)
	}
	if len(said.Devices) == 0 {
		return s, nil
	}
	d := said.Devices[0]
	s = state{running: true, healthy: d.Health == "healthy"}
	if d.Status != nil {
		s.worker = d.Status.Worker
	}
	for _, p := range d.Problems {
		s.what = append(s.what, p.What)
	}
	return s, nil
}

// install copies the programs of the image to the node.
func (n node) install() error {
	names, err := ofImage()
	if err != nil {
		return err
	}
	changed, err := onhost.Install(programs, names...)
	if err == nil && changed {
		_, err = fmt.Fprintln(n.out, "installed zramfs on the node, at "+onhost.Programs(programs))
	}
	return err
}

// ofImage returns the paths of the programs in the image: this one and the server.
func ofImage() ([]string, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server, err := zramfsd.Find()
	return []string{own, server}, err
}

// serves reports whether a process runs the installed server.
func serves(pid int) (is bool) {
	_ = onhost.Within(func() error { // a process that is gone does not
		installed, err := os.Stat(filepath.Join(onhost.Programs(programs), zramfsd.Name))
		if err != nil {
			return err
		}
		running, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
		is = err == nil && os.SameFile(installed, running)
		return err
	})
	return is
}
