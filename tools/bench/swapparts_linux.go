// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A partProcess is a process that plays a part, as the tool sees it. It belongs to
// one goroutine.
type partProcess struct {
	cmd   *exec.Cmd
	life  io.WriteCloser // its end tells the part that the tool is gone
	said  *bufio.Reader
	ended func() error // waits for its end; every call returns the same
}

// startPart starts a command and waits for its first line.
func startPart(cmd *exec.Cmd) (p *partProcess, first string, err error) {
	p = &partProcess{cmd: cmd}
	if p.life, err = cmd.StdinPipe(); err != nil {
		return nil, "", fmt.Errorf("start part: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", fmt.Errorf("start part: %w", err)
	}
	p.said = bufio.NewReader(out)
	p.ended = sync.OnceValue(cmd.Wait)
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start part: %w", err)
	}
	if first, err = p.said.ReadString('\n'); err != nil {
		return nil, "", fmt.Errorf("start part: it ended: %w", errors.Join(err, p.ended()))
	}
	return p, first, nil
}

// A guardProcess is the guard of one window.
type guardProcess struct{ *partProcess }

// startGuard starts the guard of a window, which is there when this returns. It will
// empty and remove group and restore the settings.
func startGuard(group string, limit time.Duration, settings []setting) (*guardProcess, error) {
	args := []string{group, limit.String()}
	for _, one := range settings {
		args = append(args, one.path, one.value)
	}
	cmd := partCommand(partGuard, args...)
	// A session of its own: what ends the tool from the terminal is not for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p, first, err := startPart(cmd)
	if err != nil {
		return nil, err
	}
	if first != guardReady+"\n" {
		return nil, fmt.Errorf("start guard: it says %q: %w", first, errors.Join(p.life.Close(), p.ended()))
	}
	return &guardProcess{p}, nil
}

// tell gives the guard an order.
func (g *guardProcess) tell(order string) error {
	if _, err := io.WriteString(g.life, order+"\n"); err != nil {
		return fmt.Errorf("tell guard %q: %w", order, err)
	}
	return nil
}

var errGuardActed = errors.New("the guard had to end the window")

// dismiss ends a guard; the error is errGuardActed if it had acted.
func (g *guardProcess) dismiss() error {
	told := g.tell(orderDismiss)
	rest, err := io.ReadAll(g.said)
	if string(rest) == guardActed+"\n" {
		told, err = errGuardActed, errors.Join(err, g.life.Close())
	}
	return errors.Join(told, err, g.ended())
}

// A loadProcess is the load of one window.
type loadProcess struct {
	*partProcess
	release func() bool // ends the watch over the context
}

// A loadOrder is what a load is told at its start.
type loadOrder struct {
	workload             string
	pages, touches, seed int
	cpu                  int // its only one, or anyCPU
}

// startLoad starts a load in a control group. It is killed when ctx ends, and by the
// kernel should the tool be.
func startLoad(ctx context.Context, group string, pool *os.File, order loadOrder) (_ *loadProcess, err error) {
	cmd := partCommand(partLoad, group, order.workload, strconv.Itoa(order.pages), strconv.Itoa(order.touches), strconv.Itoa(order.seed))
	cmd.ExtraFiles = []*os.File{pool}
	// The signal is that of the end of the thread that started the load: the caller
	// stays on it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var p *partProcess
	var first string
	err = onCPU(order.cpu, func() (err error) {
		p, first, err = startPart(cmd)
		return err
	})
	if err != nil {
		return nil, err
	}
	load := &loadProcess{partProcess: p}
	load.release = context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended
	if _, err := parseResult(first); err != nil {
		return nil, errors.Join(err, load.end())
	}
	return load, nil
}

// onCPU calls start, which starts a process, with the calling thread bound to that processor, which
// the process inherits. A process that has never run elsewhere is in no other processor's list of
// address spaces to flush.
func onCPU(cpu int, start func() error) (err error) {
	if cpu == anyCPU {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read CPU affinity: %w", err)
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("keep the load on CPU %d: %w", cpu, err)
	}
	defer func() { err = errors.Join(err, unix.SchedSetaffinity(0, &before)) }()
	return start()
}

// do gives the load an order and waits for its result.
func (l *loadProcess) do(order string) (loadResult, error) {
	if _, err := io.WriteString(l.life, order+"\n"); err != nil {
		return loadResult{}, fmt.Errorf("order the load to %s: %w", order, err)
	}
	line, err := l.said.ReadString('\n')
	if err != nil {
		return loadResult{}, fmt.Errorf("the load ended during %s: %w", order, errors.Join(err, l.ended()))
	}
	return parseResult(line)
}

func parseResult(line string) (loadResult, error) {
	var result loadResult
	if err := json.Unmarshal([]byte(line), &result); err != nil {
		return loadResult{}, fmt.Errorf("parse result of the load: %w", err)
	}
	if result.Error != "" {
		return loadResult{}, errors.New(result.Error)
	}
	return result, nil
}

// end kills the load, which is the quickest way to give its memory back, and waits
// for it. A load that has ended is no error.
func (l *loadProcess) end() error {
	l.release()
	if err := l.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end load: %w", err)
	}
	var exit *exec.ExitError
	if err := l.ended(); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("end load: %w", err)
	}
	return nil
}

// share copies the pool into a file in memory that loads can map, and frees its own memory: unused
// pages would be swapped out, and be measured.
func (p *pool) share() (*os.File, error) {
	fd, err := unix.MemfdCreate("zramfs-bench-pages", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("share pool: %w", err)
	}
	file := os.NewFile(uintptr(fd), "pool")
	if _, err := file.Write(p.memory); err != nil {
		return nil, fmt.Errorf("share pool: %w", errors.Join(err, file.Close()))
	}
	if err := unix.Munmap(p.memory); err != nil {
		return nil, fmt.Errorf("share pool: %w", errors.Join(err, file.Close()))
	}
	p.memory = nil
	return file, nil
}
