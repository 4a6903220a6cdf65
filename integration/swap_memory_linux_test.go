// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	endian "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

const (
	memoryPage = 4096
	// basePages is how many different pages the contents are made of.
	basePages = 4096

	// The sources of contents other than the path of a page file.
	sourceMix    = "mix"
	sourceRandom = "random"
)

// memoryOrder tells the memory client what to hold.
type memoryOrder struct {
	Pages  int
	Source string // sourceMix, sourceRandom or the path of a page file
	Group  string // directory of a control group to join first, or empty
}

// memoryReply is the answer to one command.
type memoryReply struct {
	Took    time.Duration
	Pages   int      // touched
	Swapped uint64   // bytes of the process that are in swap afterwards
	Wrong   []string // pages that were not what they should be, the first ten
}

// perSecond is the throughput in MB (1e6 bytes) a second.
func (r memoryReply) perSecond() float64 {
	return float64(r.Pages) * memoryPage / 1e6 / r.Took.Seconds()
}

// memoryPart is the client that holds memory whose every page it can check. It
// reads commands, a line each, and answers each with a line of JSON.
var memoryPart = register("memory", func(args []string) error {
	var order memoryOrder
	if err := json.Unmarshal([]byte(args[0]), &order); err != nil {
		return err
	}
	h, err := newHolder(order)
	if err != nil {
		return err
	}
	answers := json.NewEncoder(os.Stdout)
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		answer, err := h.obey(commands.Text())
		if err != nil {
			return err
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return nil
})

// holder holds the memory.
type holder struct {
	memory []byte   // anonymous, of this process alone
	rounds []uint64 // how often each page was written
	base   [][]byte
	want   [memoryPage]byte
	random *rand.Rand
}

// newHolder makes the contents before it joins the group, whose limit is for the
// memory that is to be swapped.
func newHolder(order memoryOrder) (*holder, error) {
	base, err := loadBase(order.Source)
	if err != nil {
		return nil, err
	}
	if order.Group != "" {
		if err := joinGroup(order.Group); err != nil {
			return nil, err
		}
	}
	h := &holder{base: base, rounds: make([]uint64, order.Pages), random: rand.New(rand.NewPCG(1, 2))}
	h.memory, err = unix.Mmap(-1, 0, order.Pages*memoryPage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	return h, err
}

// loadBase returns the pages that contents are made of. From a file it takes
// pages from everywhere in it, and gives back the memory of the rest.
func loadBase(source string) ([][]byte, error) {
	switch source {
	case sourceMix:
		return pages.Mix(basePages, 1), nil
	case sourceRandom:
		return pages.Generate(pages.Random, basePages, 1), nil
	}
	programs, err := pagefile.Load(source)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, p := range programs {
		all = append(all, p.Pages...)
	}
	if len(all) < basePages*memoryPage {
		return nil, fmt.Errorf("%s has less than %d pages", source, basePages)
	}
	base := make([][]byte, basePages)
	for i := range base {
		at := i * (len(all) / memoryPage / basePages) * memoryPage
		base[i] = bytes.Clone(all[at : at+memoryPage])
	}
	debug.FreeOSMemory()
	return base, nil
}

// obey does what one command says: fill (write every page), pageout (ask the
// kernel to swap everything), walk (check every page, in order) or random (check
// as many pages as there are divided by 8, and write another as often).
func (h *holder) obey(command string) (memoryReply, error) {
	r := memoryReply{Pages: len(h.rounds)}
	began := time.Now()
	switch command {
	case "fill":
		for n := range h.rounds {
			h.write(n)
		}
	case "pageout":
		if err := unix.Madvise(h.memory, unix.MADV_PAGEOUT); err != nil {
			return r, fmt.Errorf("page out: %w", err)
		}
	case "walk":
		for n := range h.rounds {
			r.check(h, n)
		}
	case "random":
		r.Pages /= 4
		for range r.Pages / 2 {
			r.check(h, h.random.IntN(len(h.rounds)))
			h.write(h.random.IntN(len(h.rounds)))
		}
	default:
		return r, fmt.Errorf("no command %q", command)
	}
	r.Took = time.Since(began)
	var err error
	r.Swapped, err = swappedOut()
	return r, err
}

func (r *memoryReply) check(h *holder, n int) {
	if err := h.check(n); err != nil && len(r.Wrong) < 10 {
		r.Wrong = append(r.Wrong, err.Error())
	}
}

func (h *holder) page(n int) []byte { return h.memory[n*memoryPage : (n+1)*memoryPage] }

// write writes page n once more.
func (h *holder) write(n int) {
	h.rounds[n]++
	copy(h.page(n), h.content(n))
}

// content is what page n has to hold: another base page in each round, stamped
// with the number and the round.
func (h *holder) content(n int) []byte {
	round := h.rounds[n]
	copy(h.want[:], h.base[(uint64(n)+round*1009)%basePages])
	endian.LittleEndian.PutUint64(h.want[:], uint64(n))
	endian.LittleEndian.PutUint64(h.want[8:], round)
	return h.want[:]
}

// check compares page n with what it has to hold. A page that cannot be read
// comes as a signal, which the runtime is told to turn into a panic.
func (h *holder) check(n int) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("page %d, round %d, is lost: %v", n, h.rounds[n], fault)
		}
	}()
	want, got := h.content(n), h.page(n)
	if bytes.Equal(got, want) {
		return nil
	}
	at := 0
	for got[at] == want[at] {
		at++
	}
	return fmt.Errorf("page %d, round %d, is wrong from byte %d on: its stamp says page %d, round %d",
		n, h.rounds[n], at, endian.LittleEndian.Uint64(got), endian.LittleEndian.Uint64(got[8:]))
}

// swappedOut returns the bytes of this process that are in swap.
func swappedOut() (uint64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	var kib uint64
	_, after, _ := strings.Cut(string(text), "\nVmSwap:")
	if _, err := fmt.Sscanf(after, "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("read VmSwap: %w", err)
	}
	return kib << 10, nil
}

// memoryClient is a memory client as its test sees it.
type memoryClient struct {
	cmd      *exec.Cmd
	commands io.WriteCloser
	answers  *json.Decoder
	stderr   bytes.Buffer
}

// startMemory starts a client that holds memory. It ends with the test.
func startMemory(t testing.TB, order memoryOrder) *memoryClient {
	t.Helper()
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	m := &memoryClient{cmd: clientCommand(t.Context(), memoryPart, string(text))}
	m.cmd.Stderr = &m.stderr
	if m.commands, err = m.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.answers = json.NewDecoder(out)
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The end of the test has killed it, unless the test has ended it before.
		if m.cmd.ProcessState == nil {
			_ = m.cmd.Wait()
		}
	})
	return m
}

// do gives the client a command and returns its answer. The test ends when there
// is none, and fails for every wrong page.
func (m *memoryClient) do(t testing.TB, command string) memoryReply {
	t.Helper()
	r, err := m.ask(command)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	for _, wrong := range r.Wrong {
		t.Errorf("%s: %s", command, wrong)
	}
	return r
}

// ask gives the client a command and returns its answer. Without one the client is
// dead.
func (m *memoryClient) ask(command string) (r memoryReply, err error) {
	kill := time.AfterFunc(swapLimit/2, func() { _ = m.cmd.Process.Kill() })
	defer kill.Stop()
	if _, err = fmt.Fprintln(m.commands, command); err == nil {
		err = m.answers.Decode(&r)
	}
	if err != nil {
		err = fmt.Errorf("no answer: %w, %v: %s", err, m.cmd.Wait(), m.stderr.Bytes())
	}
	return r, err
}

// end ends the client, which gives its memory back.
func (m *memoryClient) end(t testing.TB) {
	t.Helper()
	if err := errors.Join(m.commands.Close(), m.cmd.Wait()); err != nil {
		t.Errorf("memory client: %v: %s", err, m.stderr.Bytes())
	}
}

// realSource is the source of real pages where they have been sampled, else of a
// mixture that imitates them.
func realSource(t testing.TB) string {
	t.Helper()
	path, err := pagefile.Find()
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		t.Logf("generated pages instead of real ones: %v", err)
		return sourceMix
	}
	return path
}
