// SPDX-License-Identifier: Apache-2.0

// Command mutants measures what tests find: it changes one operator or statement of a package at a
// time and runs the tests that reach it, in their short form, until one fails. All the mutants of
// a sample are compiled into one program, and a variable of its environment says which of them is
// active: a mutant costs the time of its tests alone, and programs that tests start have it too.
//
//	go run ./tools/mutants -package store -sample 150 -seed 1
//	go run ./tools/mutants -package internal/control -tests integration:'^TestExport' -program
//
// It needs root: each run has process ids and mounts of its own, and cannot turn swap on. With -for
// it ends after that time, and with -resume it goes on. Mutants that docs/reliability.md calls
// equivalent do not count.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	name    = flag.String("package", "store", "the `package`")
	tests   = flag.String("tests", "", "`packages` with the tests, each with an expression of names behind a colon; by default the package itself, and of ./integration what fits")
	size    = flag.Int("sample", 150, "the number of mutants")
	seed    = flag.Uint64("seed", 1, "what draws them")
	skip    = flag.String("skip", "", "an expression of names of tests to leave out")
	program = flag.Bool("program", false, "build zramfs with the mutants for the tests that start it")
	jobs    = flag.Int("jobs", 1, "runs side by side")
	limit   = flag.Duration("for", 24*time.Hour, "when to end")
	resume  = flag.Bool("resume", false, "go on with an earlier call of the same sources")
	longest = flag.Duration("longest", time.Hour, "leave out tests that take longer without a mutant, beside all else that runs")
	again   = flag.Bool("again", false, "with -resume: try mutants again that survived")
	only    = flag.String("only", "", "an expression of mutants to try, of all of the sample")
)

func main() {
	flag.Parse()
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func measure() error {
	if err := refuseSwap(); err != nil {
		return err
	}
	end := time.Now().Add(*limit)
	// As the program is built: its runtime goes on where a C library would abort without a thread.
	if err := os.Setenv("CGO_ENABLED", "0"); err != nil {
		return err
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	dir := filepath.Join(root, ".cache", "mutants", strings.ReplaceAll(*name, "/", "-"))
	if !*resume {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s, err := load(root, dir, *name)
	if err != nil {
		return err
	}
	if err := s.compilable(*name); err != nil {
		return err
	}
	drawn := sample(s.mutants, *size, *seed)
	compiled := drawn
	if strings.HasPrefix(*name, "cmd/") { // so that with -resume other samples need not measure the tests
		compiled = s.mutants
	}
	if err := s.write(compiled); err != nil {
		return err
	}
	fmt.Printf("%s: %d of %d mutants, seed %d\n", *name, len(drawn), len(s.mutants), *seed)
	l, err := newLaboratory(s, compiled)
	if err != nil {
		return err
	}
	verdicts, err := l.tryAll(drawn, filepath.Join(dir, "verdicts"), end)
	if err != nil {
		return err
	}
	return report(verdicts, len(drawn))
}

// fitting are tests of ./integration that reach what a package's own do not, in some seconds each
// and without swap. They start zramfs.
var fitting = map[string]string{
	"internal/daemon": "^Test(G107DeviceAppearsAndDoesIO|KeeperKilled|WorkersDieInARow|WithoutWorker|UpgradeRefused|UpgradeStartsAgain|" +
		"WorkerThatCannotBeStarted|F075ResetAndResize|BackingDeviceByAttribute|MinuteAndCPUOutliveWorkers|F073HotAddAndRemove|" +
		"ExtraDevicesOutliveTheFirst|UmountWithCopies|UnmountedByOthers|ConnectionAborted|Signals|SignalInBackground|CorruptSuperblock|" +
		"Events|RefusedDirectories|KeeperHoldsImageLocked|UserNSMemoryFallsBack|DamagedSettingsKeepNoWorkerFromServing|" +
		"OpenAttribute\\w+|F015DeviceWithDictionary|DisksizeWithoutMemory|CorruptPage|Calls\\w+|Import|Export|Full|Set|" +
		"BackingDeviceFails|BackingDeviceBelow|FullDeviceSpills|PressureIsPolled|CountersAreTheDevices|DashboardKeepsEvents|NamesAreTaken|" +
		"F015DictionaryMayChange|F072EightDevices|MountsAtOnce|UpgradeOfRings|KeeperHoldsNothingOfTheDead|KeeperEndsWithoutWorker|" +
		"UmountWithoutWorker|CrashOnLoop|SocketsEnd|HostileUser|VerifyFindsDamage|WorkerLeavesRealTimeClass|ManagerIsToldOfMount|MountIsKilled|" +
		"NothingIsTouchedFirstByRequests|SignalsTouchNothingFirst|ZeroDataIsPresent|MemoryOfRequestsIsPresent)$",
	"internal/command": "^Test(Export|Import|F091Snapshot|SnapshotRefused|SnapshotLive|SnapshotResumed|WorkCommands|F066Zramctl|" +
		"F069ZramctlSetsUp|F066ExecZramctlCreates|ExecCodes|Set|MountHelper|F092OperationsCanBeTraced|Events|RefusedUmountInUse|" +
		"UpgradeRefused|UpgradeStartsAgain|MountToFullOutput|VerifyFindsDamage|TraceFollows|ExportInterrupted|" +
		"G107DeviceAppearsAndDoesIO|Calls\\w+|ImportRefused|ImportOfFIFO|SnapshotDamaged|F069ZramctlPrints|UmountWithoutWorker|BundleKeepsSecrets|" +
		"ServeRefuses|Metrics|StatsEndsWithItsReader|SilentDevice|SocketsEnd|ManagerIsToldOfMount|Namesake)$",
	"store": "^Test(BackingDeviceBelow|BackingDeviceFails|FullDeviceSpills)$",
	"fusefs": "^Test(Attributes\\w+|AttributeModes|AttributeWritesAsTheKernel|BackingDevice(Below|Fails|ByAttribute)|FullDeviceSpills|CallsReadsFail|" +
		"UmountWithCopies|OpenAttributeOutlivesItsMount|Corrupt(Index|Page|Requests)|CountersAreTheDevices|KeeperKilled|UnmountedByOthers|" +
		"ConnectionAborted|F073HotAddAndRemove|HostileUser|MinuteAndCPUOutliveWorkers|PressureIsPolled|RefusedUmountInUse|Set|" +
		"DamagedSettingsKeepNoWorkerFromServing|UpgradeOfRings|MemoryOfRequestsIsPresent|FlagsBeforeAndAfter|MountsAtOnce|G107DeviceAppearsAndDoesIO)$",
}

// newLaboratory compiles the tests, and the program that they start, and has each test run once.
func newLaboratory(s *sources, compiled []*mutant) (*laboratory, error) {
	l, mutants := &laboratory{dir: s.dir, compiled: digestOf(compiled)}, len(compiled)
	if *skip != "" {
		var err error
		if l.skip, err = regexp.Compile(*skip); err != nil {
			return nil, err
		}
	}
	of := or(*tests, *name)
	if names := fitting[*name]; *tests == "" && names != "" {
		of, *program = *name+",integration:"+names, true
	}
	if *program {
		l.program = filepath.Join(s.dir, "zramfs")
		if out, err := exec.Command("go", "build", tags, "-overlay", s.overlay(), "-o", l.program, "./cmd/zramfs").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
	}
	for each := range strings.SplitSeq(of, ",") {
		if err := l.prepare(s, each, mutants); err != nil {
			return nil, err
		}
	}
	if slices.Contains(simulated, *name) && *tests == "" {
		return l, l.prepareSimulation(s, mutants)
	}
	return l, nil
}

// simulated are the packages that the simulation runs; tools/simulate rewrites them.
var simulated = []string{"store", "store/internal/image", "internal/idlework", "fusefs"}

// tryAll tries the mutants that have no verdict yet, and notes each as it comes.
func (l *laboratory) tryAll(drawn []*mutant, path string, end time.Time) (verdicts []verdict, err error) {
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return nil, err
	}
	known := earlier(path)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	free := make(chan struct{}, *jobs)
	for _, m := range shuffled(drawn) {
		key := fmt.Sprintf("%s:%d %s", m.file, m.line, m.name())
		if v, ok := known[key]; ok && (v.kind == "killed" || !*again) {
			v.mutant = m
			mu.Lock()
			verdicts = append(verdicts, v)
			mu.Unlock()
			continue
		}
		free <- struct{}{}
		if time.Now().After(end) || !wanted.MatchString(key) {
			<-free
			continue
		}
		running.Go(func() {
			defer func() { <-free }()
			v := l.try(m)
			mu.Lock()
			defer mu.Unlock()
			verdicts = append(verdicts, v)
			_, werr := fmt.Fprintf(log, "%s\t%s\t%d\t%s\n", v.kind, v.by, v.tests, key)
			err = errors.Join(err, werr)
		})
	}
	running.Wait()
	return verdicts, errors.Join(err, log.Close())
}

// shuffled is in the order of the seed, so that those tried until an early end are a sample too.
func shuffled(drawn []*mutant) []*mutant {
	order := slices.Clone(drawn)
	random := rand.New(rand.NewPCG(*seed, 18))
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// report prints what lives on, and the counts.
func report(verdicts []verdict, drawn int) error {
	doc, err := os.ReadFile("docs/reliability.md")
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, v := range verdicts {
		kind := v.kind
		if kind != "killed" {
			for item := range strings.SplitSeq(string(doc), "\n* ") {
				item = strings.Join(strings.Fields(item), " ")
				if strings.Contains(item, v.mutant.name()) && strings.Contains(item, "equivalent") {
					kind = "equivalent"
				}
			}
			fmt.Printf("%-18s line %3d, %3d tests: %s %s\n", kind, v.mutant.line, v.tests, v.mutant.name(), v.by)
		}
		counts[kind]++
	}
	killed, all := counts["killed"], len(verdicts)-counts["equivalent"]
	fmt.Printf("%s: %d of %d mutants tried; %d killed, %d equivalent, %d survived, %d not reached, %d killed once of two: %.1f %% of those that are not equivalent are killed\n",
		*name, len(verdicts), drawn, killed, counts["equivalent"], counts["survived"], counts["not reached"], counts["killed once of two"], 100*float64(killed)/float64(max(all, 1)))
	return nil
}
