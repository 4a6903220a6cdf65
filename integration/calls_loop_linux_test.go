// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math/bits"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// make explore sets these. Without them a loop takes a sample, as CI does.
var (
	callsStride = flag.Int("calls-stride", 0, "fail each N-th call of a kind; 1 is all; 0 is a sample")
	callsOnly   = flag.String("calls-only", "", "fail only calls whose role, name, number and way match this expression")
	callsTurn   = flag.Int("calls-turn", 0, "another number chooses other errors, and other calls where not all fail")
)

const (
	// callsSample is how many calls of a loop CI has fail, once and from then on each.
	callsSample = 4
	// callsSlope is the share of the calls of a kind before one that are left out after it.
	callsSlope = 8
)

// A supervising is a supervisor as its test sees it.
type supervising struct {
	cmd   *exec.Cmd
	pages bool // filters tell of the page path too
	// patience bounds a command.
	patience time.Duration
	orders   *json.Encoder
	life     io.WriteCloser
	said     *json.Decoder
}

// startSupervisor starts a supervisor. It ends with the test, once all programs that it has started
// have ended.
func startSupervisor(t *testing.T) *supervising {
	t.Helper()
	// It ends by itself, after the processes for whose calls it answers.
	s := &supervising{cmd: clientCommand(context.Background(), supervisorPart, binary(t)), patience: commandTimeout}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.cmd.Stderr = os.Stderr
	var err error
	if s.life, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.orders, s.said = json.NewEncoder(s.life), json.NewDecoder(out)
	t.Cleanup(func() {
		stuck := time.AfterFunc(answerTimeout, func() {
			t.Error("a process with a filter lives on")
			killServers(root)
		})
		defer stuck.Stop()
		if err := errors.Join(s.life.Close(), s.cmd.Wait()); err != nil {
			t.Errorf("supervisor: %v", err)
		}
	})
	return s
}

// tell gives an order.
func (s *supervising) tell(t testing.TB, o callOrder) callAnswer {
	t.Helper()
	var a callAnswer
	if err := errors.Join(s.orders.Encode(o), s.said.Decode(&a)); err != nil {
		t.Fatalf("supervisor: %v", err)
	}
	if a.Error != "" {
		t.Fatalf("supervisor: %s", a.Error)
	}
	return a
}

// run runs the program below a filter.
func (s *supervising) run(t testing.TB, arm *armed, args ...string) callAnswer {
	t.Helper()
	return s.tell(t, callOrder{Run: &callRun{Args: args, Pages: s.pages, Arm: arm, Timeout: s.patience}})
}

// mustRun is run without a failing call, for what has to succeed.
func (s *supervising) mustRun(t testing.TB, args ...string) {
	t.Helper()
	if a := s.run(t, nil, args...); a.Result.Code != 0 || a.Late {
		t.Fatalf("zramfs %q: %+v", args, a)
	}
}

// A callLoop fails one call of an operation after the other.
type callLoop struct {
	name  string
	roles []string // whose calls; all where none is named
	// once does the operation with a call armed, and checks all that has to hold after.
	once func(t *testing.T, arm armed) failing

	whole  failing        // of an undisturbed run
	kinds  map[string]int // what has failed: the number of runs
	failed int            // runs
}

// run has each call of an undisturbed run fail, or a sample: once, and with all of its kind that
// follow.
func (l *callLoop) run(t *testing.T) {
	t.Helper()
	l.kinds = map[string]int{}
	t.Run("undisturbed", func(t *testing.T) { l.whole = l.once(t, armed{Roles: l.roles}) })
	if t.Failed() || l.whole.Count == 0 {
		t.Fatalf("%s without a failing call: %d calls", l.name, l.whole.Count) // or it is skipped
	}
	began := time.Now()
	if *callsStride == 0 {
		l.sample(t, require.Seed(t, 1))
	} else {
		l.each(t)
	}
	total := 0
	for _, n := range l.whole.Tally {
		total += n
	}
	t.Logf("%s: %d calls of %d kinds undisturbed; %d runs with a failing call, %d failures, %s", l.name, total, len(l.whole.Tally),
		l.failed, len(l.kinds), time.Since(began).Round(time.Second))
}

// sample fails calls that a seed draws, of kinds that it draws: hardly others where an undisturbed
// run had more. It leaves out accept4: a command waits two minutes for what has failed there.
func (l *callLoop) sample(t *testing.T, seed uint64) {
	draw := func(what string) int {
		return int(crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %s: %s", seed, l.name, what)))
	}
	calls := slices.DeleteFunc(slices.Sorted(maps.Keys(l.whole.Tally)), func(c string) bool { return strings.HasSuffix(c, " accept4") })
	slices.SortStableFunc(calls, func(a, b string) int { return draw(a) - draw(b) })
	for _, call := range calls[:min(callsSample, len(calls))] {
		for _, again := range []bool{false, true} {
			most := 1 << (bits.Len(uint(l.whole.Tally[call])) - 1)
			l.fail(t, call, 1+draw(fmt.Sprint(call, again))%most, again)
		}
	}
}

// each fails the calls of each kind and process, one after the other, until a run passes untouched.
// Of a kind that is called often it leaves some out, the more the later they come.
func (l *callLoop) each(t *testing.T) {
	for i, call := range slices.Sorted(maps.Keys(l.whole.Tally)) {
		for _, again := range []bool{false, true} {
			for n := 1 + (i+*callsTurn)%*callsStride; l.fail(t, call, n, again); n += max(*callsStride, n/callsSlope) {
			}
		}
	}
}

// fail fails the n-th call of a kind and process, and reports whether there was one.
func (l *callLoop) fail(t *testing.T, call string, n int, again bool) bool {
	role, name, _ := strings.Cut(call, " ")
	how := "once"
	if again {
		how = "again"
	}
	what := fmt.Sprintf("%s %d %s", call, n, how)
	// Threads that no call takes out of the real-time class would keep the supervisor, and so all
	// processes, from the processors. No kernel lacks the memory for a ppoll for ever.
	stay := again && (name == "sched_setattr" || name == "ppoll")
	if only, err := regexp.MatchString(*callsOnly, what); err != nil || !only || stay {
		return err == nil && n <= l.whole.Tally[call]
	}
	var f failing
	t.Run(what, func(t *testing.T) {
		f = l.once(t, armed{N: n, Again: again, Turn: *callsTurn, Roles: []string{role}, Calls: []string{name}})
		if t.Failed() {
			t.Logf("after %s of %q, %d times of %d", f.What, f.On, f.Failed, f.Count)
		}
	})
	if f.Failed > 0 {
		l.failed++
		l.kinds[f.What]++
	}
	return f.Count >= n
}

// wantClear checks that a command has succeeded, or says what went wrong in words of ours.
func wantClear(t testing.TB, a callAnswer) {
	t.Helper()
	r := a.Result
	switch {
	case a.Late:
		t.Errorf("it hangs, and was killed: %s%s", r.Stdout, r.Stderr)
	case r.Code == 0:
	case strings.Contains(a.Failing.What, ": write: "): // the message too
	case strings.Contains(a.Failing.What, ": pipe2: ") && strings.Contains(r.Stderr, "go-fuse/v2"):
		// go-fuse makes two pipes while the program is initialised, and says why it cannot.
	case strings.Contains(r.Stdout, " damaged: "): // verify says so without an error
	case !strings.Contains(r.Stderr, "zramfs: ") || strings.Contains(r.Stderr, "goroutine "):
		t.Errorf("exit code %d and no clear error: %q", r.Code, r.Stderr)
	}
}

// wantNamed is wantClear, and the error is that of the call that has failed.
func wantNamed(t testing.TB, a callAnswer) {
	t.Helper()
	wantClear(t, a)
	advised := strings.HasSuffix(a.Failing.What, ": EPERM") && strings.Contains(a.Result.Stderr, "permission denied: run as root")
	silent := advised || strings.Contains(a.Failing.What, ": write: ") || strings.Contains(a.Failing.What, ": pipe2: ") ||
		strings.Contains(a.Result.Stdout, " damaged: ") || unnamed.MatchString(a.Failing.What+" "+a.Failing.On) // see wantClear
	if a.Result.Code != 0 && !silent && !strings.Contains(a.Result.Stderr, a.Failing.Says) {
		t.Errorf("exit code %d and an error that does not name the call's: %q", a.Result.Code, a.Result.Stderr)
	}
}

// unnamed are the calls whose error a command cannot know or does not name: those of go-fuse in a
// process before it has a main function; connections that no process takes, and answers that none
// sends; and a page that cannot be read, which counts as damaged.
var unnamed = regexp.MustCompile(`^((worker|aside): pipe2: |(keeper|worker): (accept4|sendmsg): |\w+: pread64: \w+ .*/image$)`)

// excused reports whether a device may leave its directory: a process that may remove no file, or
// a keeper that cannot unmount or see what is mounted, cannot remove it.
func excused(f failing) bool {
	return strings.Contains(f.What, ": unlinkat: ") || f.Failed > 1 && strings.HasPrefix(f.What, "keeper: ")
}

// wantGone checks that a device at dir has left nothing.
func wantGone(t testing.TB, dir string, f failing) {
	t.Helper()
	var left []string
	var err error
	for end := time.Now().Add(leakPatience); ; time.Sleep(20 * time.Millisecond) {
		left, err = leftovers(root)
		if err == nil && len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
		killServers(root)
	}
	if excused(f) {
		_ = os.Remove(dir) // which fails where there is a mount
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left (%v)", dir, err)
		takeDown(t, dir)
		_ = os.Remove(dir) // said above
	}
}
