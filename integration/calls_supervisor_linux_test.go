// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/callfail"
)

// An armed says which call is to fail: the n-th that processes of the roles make from now on, all
// of them where none is named. With Again it is the first from the n-th on that can, and each later
// call of that kind and role fails too.
type armed struct {
	N     int
	Again bool
	Turn  int      // shifts the choice of the error
	Roles []string // see roleOf
	Calls []string // names of those that count; all where there is none
}

// A failing is what a supervisor has done since it was armed.
type failing struct {
	Count  int    // calls that count
	Failed int    // of these, those that were made to fail
	What   string // the first of them: role, call, error
	Says   string // the error in words
	On     string // its file, where it has one
	Tally  map[string]int
}

// A callOrder is a line of a supervisor's input; one field is set. A callAnswer is its output.
type callOrder struct {
	Run  *callRun
	Arm  *armed
	Done bool // no call fails from now on
	Look bool // what was done so far; calls go on failing
}

type callRun struct {
	Args    []string // of the program
	Pages   bool     // the filter tells of the page path too
	Arm     *armed   // from the program's first call to its end
	Timeout time.Duration
}

type callAnswer struct {
	Result  result
	Late    bool // it took longer than the timeout, and was killed
	Failing failing
	Error   string
}

// supervisorPart is the client that answers for the calls of the programs that it starts, and may
// have one fail. It goes on as long as a process has such a filter, also when the test has died:
// without it, these calls would fail for ever. Its argument is the path of the program.
var supervisorPart = register("calls", func(args []string) error {
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE); err != nil {
		return fmt.Errorf("lock memory: %w", err)
	}
	s := &callSupervisor{program: args[0], roles: map[uint32]string{}}
	answers := json.NewEncoder(os.Stdout)
	var err error
	for orders := json.NewDecoder(os.Stdin); err == nil; {
		var o callOrder
		if err = orders.Decode(&o); err == nil {
			err = answers.Encode(s.obey(o))
		}
	}
	s.obey(callOrder{Done: true})
	s.listeners.Wait()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
})

// A callSupervisor answers the kernel.
type callSupervisor struct {
	program   string
	listeners sync.WaitGroup // goroutines, one for each filter

	mu      sync.Mutex
	roles   map[uint32]string // of threads that have made a call; guarded by mu
	arm     *armed            // nil for none; guarded by mu
	failing failing           // guarded by mu
	number  int32             // of the call that fails again; guarded by mu
	role    string            // whose; guarded by mu
}

func (s *callSupervisor) obey(o callOrder) callAnswer {
	if o.Run != nil {
		a, err := s.run(*o.Run)
		if err != nil {
			a.Error = err.Error()
		}
		return a
	}
	if o.Look {
		s.mu.Lock()
		defer s.mu.Unlock()
		return callAnswer{Failing: failing{Count: s.failing.Count, Failed: s.failing.Failed}}
	}
	return callAnswer{Failing: s.set(o.Arm)}
}

// run runs the program below a filter, to its end.
func (s *callSupervisor) run(r callRun) (a callAnswer, err error) {
	how := "no pages"
	if r.Pages {
		how = "pages"
	}
	s.forgetAll() // numbers of processes come again
	ctx, cancel := context.WithTimeout(context.Background(), r.Timeout)
	defer cancel()
	cmd := clientCommand(ctx, launchPart, append([]string{how, s.program}, r.Args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, stderr, err := outputFiles()
	if err != nil {
		return a, err
	}
	defer stdout.Close()
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		return a, err
	}
	listener, err := takeListener(cmd.Process.Pid)
	if err != nil {
		return a, errors.Join(err, cmd.Process.Kill(), cmd.Wait(), errors.New(contentsOf(stderr)))
	}
	s.listeners.Go(func() { s.listen(listener, r.Arm) })
	err = cmd.Wait()
	a.Failing = s.disarm()
	a.Late = ctx.Err() != nil
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) && !a.Late {
		return a, err
	}
	a.Result = result{Stdout: contentsOf(stdout), Stderr: contentsOf(stderr), Code: cmd.ProcessState.ExitCode()}
	return a, nil
}

// outputFiles are files without a name for the output of a program, which a write to can fail as on
// a full disk; a write to a pipe cannot.
func outputFiles() (stdout, stderr *os.File, err error) {
	if stdout, err = os.CreateTemp("", "zramfs-calls-"); err != nil {
		return nil, nil, err
	}
	if stderr, err = os.CreateTemp("", "zramfs-calls-"); err != nil {
		return nil, nil, errors.Join(err, stdout.Close(), os.Remove(stdout.Name()))
	}
	return stdout, stderr, errors.Join(os.Remove(stdout.Name()), os.Remove(stderr.Name()))
}

func contentsOf(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// disarm returns what was done since a call was armed, and lets every later one pass.
func (s *callSupervisor) disarm() failing { return s.set(nil) }

func (s *callSupervisor) set(arm *armed) failing {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.failing
	s.arm, s.failing = arm, failing{Tally: map[string]int{}}
	return before
}

// listen answers for the calls of one filter until no process has it. The program of the launcher
// is armed once it is executed.
func (s *callSupervisor) listen(listener int, arm *armed) {
	defer unix.Close(listener)
	// At once: a signal interrupts calls that wait to be received, also those that no signal
	// interrupts otherwise.
	runtime.LockOSThread()
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0); err != nil {
		fmt.Fprintln(os.Stderr, "calls: real-time class:", err)
	}
	for {
		n, err := nextCall(listener)
		if err != nil {
			return
		}
		errno := unix.Errno(0)
		switch role := s.roleOf(n.PID); {
		case role != launcherRole:
			errno = s.decide(role, n)
		case n.Call == unix.SYS_EXECVE && arm != nil:
			s.set(arm)
		}
		if n.Call == unix.SYS_EXECVE {
			s.forget(n.PID)
		}
		callfail.Answer(listener, n.ID, errno)
	}
}

// decide counts a call, and says how it fails; 0 is not at all.
func (s *callSupervisor) decide(role string, n callfail.Notice) unix.Errno {
	number := n.Call
	s.mu.Lock()
	defer s.mu.Unlock()
	name := kindOf(number).name
	a := s.arm
	if a == nil || len(a.Roles) > 0 && !slices.Contains(a.Roles, role) || len(a.Calls) > 0 && !slices.Contains(a.Calls, name) {
		return 0
	}
	s.failing.Count++
	s.failing.Tally[role+" "+name]++
	due := s.failing.Count == a.N
	switch {
	case !a.Again:
	case s.failing.Failed > 0:
		due = role == s.role && number == s.number
	default: // the n-th may be one that has no error
		due = s.failing.Count >= a.N
	}
	if !due {
		return 0
	}
	errno := errorFor(n, a.N+a.Turn, a.Again)
	if errno == 0 {
		return 0
	}
	if s.failing.Failed++; s.failing.What == "" {
		s.role, s.number = role, number
		s.failing.What = fmt.Sprintf("%s: %s: %s", role, name, unix.ErrnoName(errno))
		s.failing.Says, s.failing.On = errno.Error(), targetOf(n)
	}
	return errno
}
