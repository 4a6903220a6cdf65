// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// busyTimeout bounds how long a program may take to become busy.
	busyTimeout = 20 * time.Second
	// deathTimeout bounds how long killed processes may take to end.
	deathTimeout = 5 * time.Second
	pollInterval = 10 * time.Millisecond
)

// standardDirs are searched before PATH: what stands there is the program itself,
// while a person's PATH may hold wrappers that need more of the environment.
var standardDirs = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// sample runs a workload until it is busy and returns at most maxPages pages of
// its memory, one after another. When it returns, the processes are gone.
func sample(ctx context.Context, work workload, maxPages int) (memory []byte, err error) {
	program, err := find(work.program)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pagesample-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := work.install(dir); err != nil {
		return nil, err
	}
	running, err := start(program, work.args, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, running.group.kill()) }()
	if err := running.waitBusy(ctx, work.enough); err != nil {
		return nil, fmt.Errorf("%w%s", err, lastLine(filepath.Join(dir, complaints)))
	}
	if err := running.group.stop(); err != nil {
		return nil, err
	}
	return running.group.copyPages(ctx, maxPages)
}

// complaints is the file in a run's directory that takes a program's stderr.
const complaints = "stderr.txt"

// A process is a started program.
type process struct {
	group group
	// ended receives the program's exit once.
	ended chan error
}

// start starts a program in a process group of its own, with a clean environment.
func start(program string, args []string, dir string) (process, error) {
	command := exec.Command(program, args...)
	command.Dir = filepath.Join(dir, workDir)
	command.Env = []string{
		"PATH=" + strings.Join(slices.Concat(standardDirs, []string{filepath.Dir(program)}), ":"),
		"HOME=" + filepath.Join(dir, homeDir),
		"TMPDIR=" + filepath.Join(dir, tempDir),
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := os.Create(filepath.Join(dir, complaints))
	if err != nil {
		return process{}, fmt.Errorf("make files: %w", err)
	}
	command.Stderr = stderr
	if err := command.Start(); err != nil {
		return process{}, errors.Join(fmt.Errorf("start %s: %w", program, err), stderr.Close())
	}
	if err := stderr.Close(); err != nil {
		return process{}, errors.Join(fmt.Errorf("start %s: %w", program, err), group(command.Process.Pid).kill())
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	return process{group: group(command.Process.Pid), ended: ended}, nil
}

// find returns the path of a program.
func find(name string) (string, error) {
	for _, dir := range standardDirs {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return exec.LookPath(name)
}

// waitBusy waits until the program's group holds enough bytes of anonymous memory.
func (p process) waitBusy(ctx context.Context, enough int64) error {
	timeout := time.After(busyTimeout)
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for held := int64(0); held < enough; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-p.ended:
			return fmt.Errorf("the program ended before it held %d MiB (%v)", enough>>20, exitOf(err))
		case <-timeout:
			return fmt.Errorf("the program held %d MiB after %v, not %d", held>>20, busyTimeout, enough>>20)
		case <-poll.C:
		}
		var err error
		if held, err = p.group.anonymous(); err != nil {
			return err
		}
	}
	return nil
}

func exitOf(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// lastLine returns what a program said last, in parentheses, or nothing.
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return " (" + last + ")"
	}
	return ""
}
