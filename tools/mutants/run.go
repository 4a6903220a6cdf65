// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A test is one function of a test binary, with what it met and how long it took without a mutant.
type test struct {
	name   string
	binary string
	dir    string   // where it runs: its package
	more   []string // arguments
	took   time.Duration
	met    []byte // for each mutant, 1 where it was reached
}

// A laboratory runs tests, each process in a namespace of its own, where it may end what it likes.
type laboratory struct {
	dir      string
	compiled string // digest of the mutants in the programs
	program  string // ZRAMFS_BINARY, or empty
	skip     *regexp.Regexp
	tests    []*test
}

// digestOf tells one list of mutants from another.
func digestOf(mutants []*mutant) string {
	h := fnv.New64a()
	for _, m := range mutants {
		_, _ = fmt.Fprintf(h, "%d %d %s\n", m.number, m.line, m.name()) // it does not fail
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// run runs tests of one binary, and returns the name of the first that failed, or how it ended.
func (l *laboratory) run(tests []*test, limit time.Duration, environment ...string) (failed string) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	names := ""
	for _, t := range tests {
		names += "|" + regexp.QuoteMeta(t.name)
	}
	arguments := []string{
		"-pf", "--mount-proc", "--kill-child", "sh", "-c", `"$@"; exit $?`, "sh",
		tests[0].binary, "-test.run", "^(" + names[1:] + ")$", "-test.short", "-test.failfast", "-test.v", "-test.timeout", limit.String(),
	}
	arguments = append(arguments, tests[0].more...)
	cmd := exec.CommandContext(ctx, "unshare", arguments...)
	cmd.Dir = tests[0].dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a mutant that tells of process 0 has tests signal their group
	cmd.Env = append(os.Environ(), environment...)
	if l.program != "" {
		cmd.Env = append(cmd.Env, "ZRAMFS_BINARY="+l.program)
	}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	_ = os.WriteFile(filepath.Join(l.dir, "last-failure"), out, 0o644) // to be looked at
	last := ""
	for line := range bytes.Lines(out) {
		if m := testLine.FindSubmatch(line); m != nil {
			if last = string(m[2]); string(m[1]) == "--- FAIL: " {
				return last
			}
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || bytes.Contains(out, []byte("panic: test timed out")) {
		return "time: " + last
	}
	return "crash: " + last
}

var testLine = regexp.MustCompile(`^(=== RUN   |--- FAIL: )(Test\w+)`)

// prepare compiles the tests of a package and notes what each of them meets.
func (l *laboratory) prepare(s *sources, of string, mutants int) error {
	name, only, _ := strings.Cut(of, ":")
	binary := filepath.Join(l.dir, strings.ReplaceAll(name, "/", "-")+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", tags, "-overlay", s.overlay(), "-o", binary, "./"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	cmd = exec.Command(binary, "-test.list", or(only, "."))
	cmd.Dir = filepath.Join(s.root, name)
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(strings.Fields(string(out)), func(n string) bool {
		return !strings.HasPrefix(n, "Test") || l.skip != nil && l.skip.MatchString(n)
	})
	met, known := filepath.Join(l.dir, "met"), l.known()
	log, err := os.OpenFile(filepath.Join(l.dir, "map"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	for _, n := range names {
		t := &test{name: n, binary: binary, dir: cmd.Dir}
		if fields := known[name+" "+n]; fields != nil {
			t.took, _ = time.ParseDuration(fields[2])
			t.met = []byte(fields[3])
		} else if err := l.measure(t, met, mutants); err != nil {
			fmt.Printf("%s %s: left out: it fails without a mutant: %v\n", name, n, err)
			t.met = bytes.Repeat([]byte{'0'}, mutants)
		}
		if err := l.remember(log, name, t); err != nil {
			return err
		}
		l.tests = append(l.tests, t)
	}
	return nil
}

// prepareSimulation compiles the simulation with the mutants. It runs for half a minute from one
// seed on, and only for mutants that other tests let live.
func (l *laboratory) prepareSimulation(s *sources, mutants int) error {
	dir := filepath.Join(l.dir, "simulation")
	if out, err := exec.Command("go", "run", "./tools/simulate", "-o", dir, "-overlay", s.overlay()).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	t := &test{name: "TestSimulate", binary: filepath.Join(l.dir, "simulation.test"), dir: filepath.Join(s.root, "internal/daemon"),
		more: []string{"-seed", "1", "-for", "30s", "-shorten=false"}}
	cmd := exec.Command("go", "test", "-c", "-vet=off", tags+",simulation", "-overlay", filepath.Join(dir, "overlay.json"), "-o", t.binary, "./internal/daemon")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	l.tests = append(l.tests, t)
	return l.measure(t, filepath.Join(l.dir, "met"), mutants)
}

// remember notes what a test of a package has met.
func (l *laboratory) remember(log io.Writer, name string, t *test) error {
	_, err := fmt.Fprintf(log, "%s %s %s %s %s\n", name, t.name, t.took, t.met, l.compiled)
	return err
}

// known is what an earlier call with the same mutants has noted of tests: those of another sample
// have other numbers.
func (l *laboratory) known() map[string][]string {
	text, _ := os.ReadFile(filepath.Join(l.dir, "map"))
	known := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(strings.TrimSpace(line), " "); len(fields) == 5 && fields[4] == l.compiled {
			known[fields[0]+" "+fields[1]] = fields
		}
	}
	return known
}

// measure runs a test without a mutant; once more if it fails, and with what it meets.
func (l *laboratory) measure(t *test, met string, mutants int) error {
	failed := ""
	for range 2 {
		if err := os.WriteFile(met, make([]byte, mutants), 0o666); err != nil {
			return err
		}
		begin := time.Now()
		failed = l.run([]*test{t}, 3*time.Minute, "ZRAMFS_MUTANTS_MET="+met)
		t.took = time.Since(begin)
		if failed == "" {
			break
		}
	}
	if failed != "" {
		return errors.New(failed)
	}
	b, err := os.ReadFile(met)
	if err != nil {
		return err
	}
	for i := range b {
		b[i] += '0'
	}
	t.met = b
	return nil
}

// try runs the tests that reach a mutant, short ones first, until one fails twice.
func (l *laboratory) try(m *mutant) verdict {
	var reach []*test
	for _, t := range l.tests {
		if t.met[m.number] == '1' && t.took <= *longest {
			reach = append(reach, t)
		}
	}
	if len(reach) == 0 {
		return verdict{mutant: m, kind: "not reached"}
	}
	slices.SortStableFunc(reach, func(a, b *test) int { return int(a.took - b.took) })
	mutant := "ZRAMFS_MUTANT=" + strconv.Itoa(m.number)
	once := ""
	for begin := 0; begin < len(reach); {
		end, sum := begin, time.Duration(0)
		for end < len(reach) && reach[end].binary == reach[begin].binary && (end == begin || sum+reach[end].took < 4*time.Second) {
			sum += reach[end].took
			end++
		}
		batch := reach[begin:end]
		failed := l.run(batch, 5*sum+30*time.Second, mutant)
		if failed == "" {
			begin = end
			continue
		}
		name := failed[strings.LastIndex(failed, " ")+1:]
		i := max(slices.IndexFunc(batch, func(t *test) bool { return t.name == name }), 0)
		if strings.HasPrefix(failed, "time: ") || l.run(batch[i:i+1], 5*batch[i].took+30*time.Second, mutant) != "" {
			return verdict{m, "killed", failed, len(reach)}
		}
		once = failed
		begin += i + 1
	}
	if once != "" {
		return verdict{m, "killed once of two", once, len(reach)}
	}
	return verdict{m, "survived", "", len(reach)}
}

// A verdict is what became of a mutant.
type verdict struct {
	mutant *mutant
	kind   string
	by     string // the test
	tests  int    // that reach it
}

// earlier reads the verdicts of an earlier call.
func earlier(path string) map[string]verdict {
	all := map[string]verdict{}
	f, err := os.Open(path)
	if err != nil {
		return all
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Split(lines.Text(), "\t"); len(fields) == 4 {
			n, _ := strconv.Atoi(fields[2])
			all[fields[3]] = verdict{kind: fields[0], by: fields[1], tests: n}
		}
	}
	return all
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
