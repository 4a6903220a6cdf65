// SPDX-License-Identifier: Apache-2.0

package simkernel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A World schedules tasks. Its fields belong to the task that runs.
type World struct {
	rng     *rand.Rand
	lot     uint64  // see draws
	tasks   []*Task // that have not ended; those that wait for something come last
	waiting int     // index of the first of them
	dead    int     // how many are of dead processes
	running *Task
	timers  []*Timer
	due     time.Duration // none of them is due before
	devices map[int]*Device

	now    time.Duration // since birth, up to the last decision
	steps  uint64        // up to the last decision
	period int32         // statements from the last decision to the next
	mean   int32         // statements between two decisions, on average

	watched *Process // before each of whose statements watch is called
	watch   func()

	tasksMade int
	failure   error
	over      bool
	done      chan struct{}
	Memory    Budget
}

// coarseMean is the mean of a task that runs Coarsely.
const coarseMean = 20_000

// birth is when each world begins.
var birth = time.Unix(1_700_000_000, 0)

// statement is what a statement takes on the clock.
const statement = 20 * time.Nanosecond

// the is the world that runs; nil where there is none. Step reads left only.
var the *World

// left counts the statements until the next decision of the scheduler.
var left int32 = 1 << 30

// New makes a world of a seed. Run begins it.
func New(seed uint64) *World {
	return &World{rng: rand.New(rand.NewPCG(seed, 0x7a72616d6673)), lot: seed, devices: map[int]*Device{}, mean: 200, done: make(chan struct{})}
}

// Random is the source of all decisions. The caller is a task, or no task runs yet.
func (w *World) Random() *rand.Rand { return w.rng }

// Elapsed is the time since the world began.
func (w *World) Elapsed() time.Duration {
	return w.now + time.Duration(w.period-left)*statement
}

// Steps is how many statements were run.
func (w *World) Steps() uint64 { return w.steps + uint64(w.period-left) }

// SetMean sets how many statements a task runs on average before another one may go on.
func (w *World) SetMean(n int32) { w.mean = max(n, 1) }

// Jump lets the clock jump forward, as when a machine stands still.
func (w *World) Jump(d time.Duration) { w.now += d }

// Watch has f called before each statement of a process, until Watch is called with nil. f looks at
// memory that outlives the process, and does nothing that waits.
func (w *World) Watch(p *Process, f func()) {
	w.account()
	w.watched, w.watch = p, f
	w.draw()
}

// A Task is a goroutine of the world.
type Task struct {
	name    string
	process *Process
	wake    chan struct{}
	ready   func() bool   // what it waits for; nil where it waits for none
	until   time.Duration // when it goes on at the latest; 0 for no limit
	frozen  time.Duration // until when it is not scheduled, whatever it waits for
	dying   bool          // it runs its deferred functions, and nothing makes it wait
	coarse  bool          // it hands over rarely
	reading bool          // it is in read(2) on a device
	signal  bool          // which was interrupted
	number  int
	began   bool
	f       func()
}

// Run runs main as the first task of a process that never dies, until it returns or the run
// fails, and returns the failure. The caller is not a task.
func (w *World) Run(main func()) error {
	the = w
	defer func() { the, left, w.period = nil, 1<<30, 1<<30 }()
	driver := w.NewProcess("driver")
	driver.Go("main", func() {
		main()
		w.end(nil)
	})
	w.period, left = 0, 0
	w.resume(w.next())
	<-w.done
	return w.failure
}

// end ends the run: all processes die. The caller lets another task run.
func (w *World) end(err error) {
	if !w.over {
		w.over, w.failure = true, err
	}
	for _, t := range w.tasks {
		t.process.dead = true
	}
	w.dead = len(w.tasks)
}

// Fail ends the run with an error.
func (w *World) Fail(format string, args ...any) {
	w.end(fmt.Errorf(format, args...))
	if !w.running.dying {
		w.account()
		w.hand()
	}
}

// Step is where a task may hand over, or its process die. Each statement begins with it.
func Step() {
	left--
	if left < 0 && the != nil {
		the.decide()
	}
}

// Work is where a task begins a call that takes as long as some statements.
func Work(statements int) {
	for range statements {
		Step()
	}
}

// decide lets the process of the running task die, if its time has come, or another task go on.
func (w *World) decide() {
	t := w.running
	w.account()
	if t.dying {
		w.draw()
		return
	}
	if w.watch != nil && t.process == w.watched {
		w.watch()
	}
	if p := t.process; p.doom != 0 && w.steps >= p.doom {
		p.Kill()
	}
	w.hand()
}

// account adds the statements since the last decision to the clock.
func (w *World) account() {
	done := w.period - left
	w.steps += uint64(done)
	w.now += time.Duration(done) * statement
	w.period, left = 0, 0
}

// draw chooses how many statements the next decision is away.
func (w *World) draw() {
	mean := w.mean
	if w.running.coarse {
		mean = coarseMean
	}
	if w.watch != nil {
		return // at once: account has left nothing
	}
	n := w.rng.Int32N(2*mean) + 1
	if t := w.running; t.process.doom != 0 {
		n = int32(min(uint64(n), max(t.process.doom, w.steps+1)-w.steps))
	}
	w.period, left = n, n
}

// hand hands over to a task that can go on, which may be the running one.
func (w *World) hand() {
	t := w.running
	if next := w.next(); next != t {
		w.resume(next)
		<-t.wake
	}
	if t.process.dead && !t.dying {
		t.dying = true
		w.draw()
		runtime.Goexit()
	}
	w.draw()
}

// resume lets a task run. The caller waits, or ends.
func (w *World) resume(t *Task) {
	w.running = t
	if !t.began {
		t.began = true
		go w.run(t)
		return
	}
	t.wake <- struct{}{}
}

// run is the goroutine of a task.
func (w *World) run(t *Task) {
	debug.SetPanicOnFault(true)
	defer func() {
		if r := recover(); r != nil {
			w.end(fmt.Errorf("task %s of %s: panic: %v\n%s", t.name, t.process.name, r, debug.Stack()))
		}
		w.ended(t)
	}()
	w.draw()
	if !t.process.dead {
		t.f()
	}
}

// ended removes a task, and lets another one run.
func (w *World) ended(t *Task) {
	w.account()
	for i, other := range w.tasks {
		if other == t {
			w.tasks = append(w.tasks[:i], w.tasks[i+1:]...)
			if i < w.waiting {
				w.waiting--
			}
			break
		}
	}
	if t.process.tasks--; t.process.dead {
		w.dead--
	}
	if len(w.tasks) == 0 {
		close(w.done)
		return
	}
	w.resume(w.next())
}

// asked is how many of the tasks that wait are asked at a decision whether they can go on. Asking
// all of them took two thirds of the time of a run.
const asked = 3

// next chooses a task that can go on. Those of dead processes come first. It moves the clock where
// there is none.
func (w *World) next() *Task {
	for {
		w.fire()
		if w.dead > 0 {
			return w.tasks[slices.IndexFunc(w.tasks, func(t *Task) bool { return t.process.dead })]
		}
		for range min(asked, len(w.tasks)-w.waiting) {
			w.ask(w.waiting + w.draws(len(w.tasks)-w.waiting))
		}
		if w.waiting == 0 {
			for k := range w.tasks {
				w.ask(k)
			}
		}
		if w.waiting == 0 {
			w.sleep()
			continue
		}
		k := w.draws(w.waiting)
		t := w.tasks[k]
		if t.able(w.now) {
			return t
		}
		w.waiting--
		w.tasks[k], w.tasks[w.waiting] = w.tasks[w.waiting], t
	}
}

// ask counts the k-th task, which has waited, among those that can go on if it can.
func (w *World) ask(k int) {
	if t := w.tasks[k]; k >= w.waiting && t.able(w.now) {
		w.tasks[k], w.tasks[w.waiting] = w.tasks[w.waiting], t
		w.waiting++
	}
}

// draws draws a number below n for the scheduler, which needs many: a linear congruential generator
// (Knuth's MMIX), since rng takes as long as what it decides.
func (w *World) draws(n int) int {
	w.lot = w.lot*6364136223846793005 + 1442695040888963407
	return int(w.lot >> 32 * uint64(n) >> 32)
}

// able reports whether the task can go on. Its condition is not asked again once it was true: it
// may have taken what the task waited for.
func (t *Task) able(now time.Duration) bool {
	if t.frozen > now {
		return false
	}
	if t.ready != nil && (t.until != 0 && t.until <= now || t.ready()) {
		t.ready = nil
	}
	return t.ready == nil
}

// sleep moves the clock to when the next task or timer is due.
func (w *World) sleep() {
	var next time.Duration
	earlier := func(at time.Duration) {
		if at > w.now && (next == 0 || at < next) {
			next = at
		}
	}
	for _, t := range w.tasks {
		earlier(t.until)
		earlier(t.frozen)
	}
	for _, timer := range w.timers {
		earlier(timer.at)
	}
	if next == 0 {
		w.end(fmt.Errorf("no task can go on: %s", w.describe()))
		return
	}
	w.now = next
}

// describe lists the tasks, for a failure.
func (w *World) describe() string {
	var b strings.Builder
	for _, t := range w.tasks {
		fmt.Fprintf(&b, "%s/%s ", t.process.name, t.name)
	}
	return b.String()
}

// Until waits until ready has returned true once. The scheduler calls it while any task runs; until
// the caller goes on, what ready has found may have changed.
func Until(ready func() bool) { UntilOr(ready, 0) }

// UntilOr is Until for d at the most; 0 is no limit.
func UntilOr(ready func() bool, d time.Duration) {
	w := the
	if w == nil && !ready() {
		panic("world: a wait outside of the world")
	}
	if w == nil || w.running.dying || ready() {
		return
	}
	t := w.running
	w.account()
	t.ready = ready
	if d > 0 {
		t.until = w.now + d
	}
	w.hand()
	t.ready, t.until = nil, 0
}

func never() bool { return false }

// Sleep waits.
func Sleep(d time.Duration) { UntilOr(never, max(d, 1)) }

// Yield lets another task run.
func Yield() {
	if w := the; !w.running.dying {
		w.account()
		w.hand()
	}
}

// Freeze keeps a random task of a process from running for a while, as a processor that was taken
// away or a stopped thread would.
func (w *World) Freeze(p *Process, d time.Duration) {
	n := w.rng.IntN(max(p.tasks, 1))
	for _, t := range w.tasks {
		if t.process == p {
			if n == 0 {
				t.frozen = w.now + d
				return
			}
			n--
		}
	}
}

// Coarsely runs f, which is long, with few decisions.
func Coarsely(f func()) {
	t := the.running
	t.coarse = true
	f()
	t.coarse = false
}
