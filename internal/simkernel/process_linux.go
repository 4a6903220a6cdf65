// SPDX-License-Identifier: Apache-2.0

package simkernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// A Process is a set of tasks that die together.
type Process struct {
	w      *World
	name   string
	tasks  int
	dead   bool
	doom   uint64 // the step at which it dies; 0 for never
	torn   int    // copies until the one within which it dies; 0 for none
	mapped [][]byte
}

// NewProcess makes a process without a task.
func (w *World) NewProcess(name string) *Process { return &Process{w: w, name: name} }

// Go starts a task of the process.
func (p *Process) Go(name string, f func()) {
	w := p.w
	w.tasksMade++
	t := &Task{name: fmt.Sprintf("%s.%d", name, w.tasksMade), process: p, wake: make(chan struct{}), number: w.tasksMade, f: f}
	w.tasks = append(w.tasks, t)
	if p.tasks++; p.dead {
		w.dead++
	}
}

// Kill ends the process where each of its tasks is. The caller's task ends too, if it is one of
// them.
func (p *Process) Kill() {
	if !p.dead {
		p.w.dead += p.tasks
	}
	p.dead, p.doom = true, 0
	t := p.w.running
	if t != nil && t.process == p && !t.dying {
		p.w.account()
		p.w.hand()
	}
}

// KillIn lets the process die in the first of its statements once the world has run this many.
func (p *Process) KillIn(steps uint64) { p.doom = p.w.Steps() + max(steps, 1) }

// KillInCopy lets the process die within the nth copy from now on that its tasks make.
func (p *Process) KillInCopy(n int) { p.torn = n }

// Dead reports whether the process was killed, or was exited.
func (p *Process) Dead() bool { return p.dead }

// Ended reports whether no task of the process is left.
func (p *Process) Ended() bool { return p.tasks == 0 }

// Free removes what the process has mapped. It has ended.
func (p *Process) Free() (err error) {
	for _, m := range p.mapped {
		err = errors.Join(err, unix.Munmap(m))
	}
	p.mapped = nil
	return err
}

// Name is what NewProcess was given.
func (p *Process) Name() string { return p.name }

// Current is the process of the running task.
func Current() *Process { return the.running.process }

// Exit ends the process of the running task.
func Exit() { the.running.process.Kill() }

// Go starts a task of the running task's process.
func Go(f func()) { the.running.process.Go("go", f) }
