// SPDX-License-Identifier: Apache-2.0

//go:build simulation

package daemon

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/simkernel"
	"github.com/zramfs/zramfs/store"
)

var (
	simulationSeed    = flag.Uint64("seed", 1, "the seed of the first simulation")
	simulationFor     = flag.Duration("for", 10*time.Second, "how long to simulate")
	simulationTell    = flag.Bool("tell", false, "print what happens")
	simulationShorten = flag.Bool("shorten", true, "look for the shortest run that fails")
	simulationOps     = flag.Int("ops", 20_000, "requests of each simulation")
)

// A plan is what a seed decides before the machine begins.
type plan struct {
	disksize  uint64
	pages     int // that are used
	cluster   uint64
	stride    uint64
	limit     uint64 // of memory, 0 for none
	onFull    store.OnFull
	backing   uint64 // blocks of a backing device, 0 for none
	lone      bool   // the kernel sends nothing again
	scarce    bool   // memory is scarce now and then
	users     int
	operators int
	scrub     time.Duration // from one scrub to the next
	transfer  int           // pages of the largest request
	calm      int           // requests from one mishap to the next, about
	opening   int           // requests until users use one page more of the device
	algorithm codec.Algorithm
	others    []codec.Algorithm
}

// planOf draws a plan. Half of the devices are small and full, the others are of up to 64 GiB and
// sparse: they take index pages as users come to use more of them, also when memory is full.
func planOf(seed uint64) plan {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := plan{
		pages: 256 << rng.IntN(4), cluster: 16, stride: 16, users: 1 + rng.IntN(12), operators: rng.IntN(3),
		transfer: 1 + rng.IntN(16), calm: 200 << rng.IntN(5), lone: rng.IntN(4) == 0, scarce: rng.IntN(3) == 0,
		opening: 1 << rng.IntN(6), scrub: time.Minute << rng.IntN(8),
	}
	p.disksize = uint64(p.pages) * store.PageSize
	if rng.IntN(2) == 0 {
		p.cluster, p.stride = 4<<(2*rng.IntN(2)), 1024<<rng.IntN(6)
		p.disksize = max(uint64(p.pages)/p.cluster*p.stride*store.PageSize, p.disksize)
	}
	for _, name := range []string{"adaptive", "lz4", "page", "zstd(level=1)", "page:dense", "raw"} {
		p.others = append(p.others, mustParse(name))
	}
	p.algorithm = p.others[rng.IntN(4)]
	if rng.IntN(3) == 0 {
		p.backing = 64 << rng.IntN(6)
	}
	if rng.IntN(2) == 0 || p.backing != 0 { // the device spills only where its limit is near
		cfg := store.Config{Disksize: p.disksize, MaxMemory: 1 << 28}
		if p.backing != 0 {
			cfg.Backing = new(store.Backing)
		}
		p.limit = store.LeastLimit(cfg) + uint64(rng.IntN(24))<<(16+rng.IntN(3))
	}
	p.onFull = []store.OnFull{store.FullSpill, store.FullStall, store.FullError}[rng.IntN(3)]
	return p
}

// A script is what happened, for a run that fails, and a hash of it, for comparing runs.
type script struct {
	w     *simkernel.World
	lines []string
	hash  uint64
	count int
}

// lastLines is how much of the script a failure shows.
const lastLines = 60

func (s *script) note(format string, args ...any) {
	line := fmt.Sprintf("%12v  %s", s.w.Elapsed(), fmt.Sprintf(format, args...))
	if *simulationTell {
		fmt.Println(line)
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", s.hash, line)
	s.hash = h.Sum64()
	s.count++
	s.lines = append(s.lines, line)
	if len(s.lines) > 4*lastLines {
		s.lines = s.lines[len(s.lines)-lastLines:]
	}
}

// An outcome is what a run has shown.
type outcome struct {
	err                       error
	ops, pageOps              int
	deaths, upgrades, refused int
	steps                     uint64
	elapsed                   time.Duration
	hash                      uint64
	did                       worked
	lines                     []string
}

// simulate runs a seed until ops requests are answered, and compares all at the end.
func simulate(t *testing.T, seed uint64, ops int) (o outcome) {
	p := planOf(seed)
	w := simkernel.New(seed)
	w.Memory.Left = 1 << 30
	s := &script{w: w}
	var m *machine
	o.err = w.Run(func() {
		var err error
		if m, err = newMachine(w, p, s, t.TempDir()); err != nil {
			w.Fail("make the machine: %v", err)
		}
		m.limited = p.limit != 0
		m.run(ops)
	})
	if m == nil {
		return o
	}
	o.ops, o.pageOps, o.deaths, o.upgrades, o.refused, o.did = m.ops, m.pageOps, m.deaths, m.upgrades, m.refused, m.did
	o.steps, o.elapsed, o.hash = w.Steps(), w.Elapsed(), s.hash
	o.lines = s.lines[max(0, len(s.lines)-lastLines):]
	if err := m.close(); err != nil && o.err == nil {
		o.err = err
	}
	return o
}

// stallsFor is when a run ends in which writes may stall: a full device takes half a minute for
// each request, and works in the background all that time.
const stallsFor = 3 * time.Hour

// run is the main task: it ends once all is compared.
func (m *machine) run(ops int) {
	simkernel.Go(m.keep)
	simkernel.Go(m.reap)
	simkernel.Go(m.interfere)
	m.users = m.plan.users + 1
	for range m.plan.users {
		simkernel.Go(m.use)
	}
	simkernel.Go(m.administer)
	simkernel.Until(func() bool { return m.ops >= ops || m.plan.onFull == store.FullStall && m.w.Elapsed() > stallsFor })
	m.ending = true
	simkernel.Until(func() bool { return m.users == 0 && m.interfered })
	m.compare()
	m.settings.compare()
	early := m.w.Random().IntN(2) == 0 // the store that has been at work, or one that begins anew
	if early {
		m.relieve()
	}
	for range 2 { // once more by a worker that begins with what there is
		owner := m.awaitOwner()
		checked := false
		owner.process.Go("check", func() {
			simkernel.Coarsely(func() { owner.store.Check(func(err error) { m.w.Fail("check at the end: %v", err) }) })
			checked = true
		})
		simkernel.Until(func() bool { return checked || owner.process.Dead() })
		owner.process.Kill()
		m.compare()
		m.settings.compare()
	}
	if !early {
		m.relieve()
	}
}

// awaitOwner waits for a worker that serves and is ready.
func (m *machine) awaitOwner() (owner *simulatedWorker) {
	simkernel.UntilOr(func() bool {
		for _, v := range m.workers {
			if v.p == m.machine.owner && v.p.phase == ready && v.store != nil {
				owner = v
			}
		}
		return owner != nil
	}, time.Minute)
	if owner == nil {
		m.w.Fail("no worker serves within a minute")
	}
	return owner
}

// TestSimulate runs simulations of one seed after the other.
func TestSimulate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	seed := *simulationSeed
	t.Logf("first seed %d", seed)
	var all outcome
	runs := 0
	begun := time.Now()
	for ; time.Since(begun) < *simulationFor || runs == 0; runs++ {
		o := simulate(t, seed, *simulationOps)
		if o.err != nil {
			report(t, seed, o)
			return
		}
		all.ops, all.pageOps = all.ops+o.ops, all.pageOps+o.pageOps
		all.deaths, all.upgrades, all.refused = all.deaths+o.deaths, all.upgrades+o.upgrades, all.refused+o.refused
		all.did.add(o.did)
		all.steps, all.elapsed = all.steps+o.steps, all.elapsed+o.elapsed
		seed++
	}
	took := time.Since(begun)
	t.Logf("in the background %d pages packed, %d joined, %d spilled, %d scrubs", all.did.packed, all.did.joined, all.did.spilled, all.did.scrubs)
	t.Logf("%d runs, up to seed %d: %d requests (%.0f a minute) with %d operations on pages (%.0f a minute), %d deaths, %d upgrades, %d refused, %d statements, %v on the clock", runs, seed-1,
		all.ops, float64(all.ops)/took.Minutes(), all.pageOps, float64(all.pageOps)/took.Minutes(), all.deaths, all.upgrades, all.refused, all.steps, all.elapsed.Round(time.Second))
}

// report tells of a failure, and of the shortest run of the seed that fails.
func report(t *testing.T, seed uint64, o outcome) {
	t.Helper()
	t.Errorf("seed %d fails after %d requests, %d deaths and %v: %v\nThe last of it:\n%s", seed, o.ops, o.deaths, o.elapsed, o.err, strings.Join(o.lines, "\n"))
	fewest, most := 0, o.ops
	for least := 0; *simulationShorten && most-least > max(most/50, 1); {
		n := (least + most) / 2
		if shorter := simulate(t, seed, n); shorter.err != nil {
			most, fewest, o = n, n, shorter
		} else {
			least = n
		}
	}
	if fewest != 0 {
		t.Errorf("It fails with -seed %d -ops %d too: %v\nThe last of it:\n%s", seed, fewest, o.err, strings.Join(o.lines, "\n"))
	}
}

// TestSameSeedSameRun runs seeds twice and demands the same of both runs.
func TestSameSeedSameRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for seed := uint64(1); seed <= 6; seed++ {
		a, b := simulate(t, seed, 2000), simulate(t, seed, 2000)
		if a.hash != b.hash || a.steps != b.steps || a.elapsed != b.elapsed || (a.err == nil) != (b.err == nil) {
			t.Errorf("seed %d: %d statements and %v, then %d and %v", seed, a.steps, a.elapsed, b.steps, b.elapsed)
		}
	}
}

func simulatedBacking(blocks uint64) (*backing, error) {
	f, err := os.CreateTemp("/dev/shm", "zramfs-simulated-*")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Remove(f.Name()), f.Truncate(int64(blocks*store.PageSize))); err != nil {
		return nil, err
	}
	secret, err := store.NewSecret()
	return &backing{file: f, secret: secret, path: f.Name()}, err
}

// TestSeedsThatFailed runs what failed once, as far as a change of the sources leaves it the same.
func TestSeedsThatFailed(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	text, err := os.ReadFile("../../tools/simulate/seeds")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var seed uint64
		var ops int
		if n, _ := fmt.Sscanf(line, "%d %d", &seed, &ops); n != 2 {
			continue
		}
		if o := simulate(t, seed, ops); o.err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(line), o.err)
		}
	}
}
