// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// kernelStack is what the kernel takes for the stack of each thread, in bytes (THREAD_SIZE on amd64
// and arm64).
const kernelStack = 16 << 10

// A device that holds nothing takes no more of the machine's memory than this, everything counted,
// seen from outside. The limits are for a machine with two processors; each further one has a
// thread and a slot for requests. The runtime's heap differs by 2 MiB from start to start, and
// keeps what it has, being locked: the least of some starts counts.
func TestEmptyDeviceCost(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for size, limit := range map[string]int64{"1G": 43 << 19, "4G": 43 << 19, "16G": 43 << 19} {
		t.Run(size, func(t *testing.T) {
			const starts = 6
			got := costOfEmpty(t, size)
			for n := 1; got > limit && n < starts; n++ {
				got = min(got, costOfEmpty(t, size))
			}
			if got > limit {
				t.Errorf("an empty device of %s takes %d KiB, want %d at most", size, got>>10, limit>>10)
			}
		})
	}
}

// costOfEmpty starts a device and returns what it takes, in bytes.
func costOfEmpty(t *testing.T, size string) int64 {
	t.Helper()
	dir := mount(t, "--size", size)
	s := statusOf(t, dir)
	file, _ := image(t, s.KeeperPID)
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	keeper, worker := footprintOf(t, s.KeeperPID), footprintOf(t, s.WorkerPID)
	stored, processes := st.Blocks*512, keeper.memory+worker.memory
	stacks := (keeper.threads + worker.threads) * kernelStack
	t.Logf("%.1f MB: image %d KiB, keeper %d KiB, worker %d KiB, page tables included; stacks in the kernel %d KiB",
		float64(stored+processes+stacks)/(1<<20), stored>>10, keeper.memory>>10, worker.memory>>10, stacks>>10)
	// The kernel counts what the status reads in batches, by processor.
	if told := int64(s.ProcessMemoryBytes); told < processes*3/4 || told > processes*5/4 {
		t.Errorf("status says that the processes take %d KiB, outside it is %d", told>>10, processes>>10)
	}
	return stored + processes + stacks
}

// runWithSymbols runs the calling test apart on a program that has symbols, which make build leaves
// out.
func runWithSymbols(t *testing.T) {
	t.Helper()
	program := filepath.Join(tempDir(t), "zramfs")
	if err := buildBoth(program, ""); err != nil {
		t.Fatal(err)
	}
	runApartOn(t, nil, program)
}

// All zero-initialised data of the program is present in a worker but one that no code uses, 32 MiB
// in size.
func TestZeroDataIsPresent(t *testing.T) {
	require.FUSE(t)
	if os.Getenv(apartVariable) == "" {
		runWithSymbols(t)
		return
	}
	const unused = "crypto/internal/fips140/drbg.memory"
	program, err := elf.Open(serverBeside(binary(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	symbols, err := program.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	used := uint64(0)
	for _, s := range symbols {
		if int(s.Section) < len(program.Sections) && program.Sections[s.Section].Type == elf.SHT_NOBITS && s.Size > 0 && s.Name != unused {
			used = max(used, s.Value+s.Size)
		}
	}
	if used == 0 {
		t.Fatal("no zero-initialised data")
	}
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", statusOf(t, mount(t, "--size", "8M")).WorkerPID))
	if err != nil {
		t.Fatal(err)
	}
	defer pagemap.Close()
	for _, s := range program.Sections {
		if s.Type != elf.SHT_NOBITS || s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_TLS != 0 {
			continue
		}
		for at := s.Addr &^ (pageSize - 1); at < min(s.Addr+s.Size, used); at += pageSize {
			var entry [8]byte
			if _, err := pagemap.ReadAt(entry[:], int64(at/pageSize*8)); err != nil || entry[7]>>7 == 0 {
				t.Fatalf("the page at %x is absent (%v); data in use ends at %x", at, err, used)
			}
		}
	}
}

// footprint is what a process takes of the machine's memory.
type footprint struct {
	memory  int64 // its share (Pss) of all mappings but the image's, and its page tables, in bytes
	threads int64
}

var mappingLine = regexp.MustCompile(`^[0-9a-f]+-[0-9a-f]+ `)

// footprintOf reads /proc/PID/smaps and /proc/PID/status.
func footprintOf(t *testing.T, pid int) (f footprint) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	maps, err := os.ReadFile(filepath.Join(dir, "smaps"))
	if err != nil {
		t.Fatal(err)
	}
	counts := false
	for line := range strings.Lines(string(maps)) {
		if mappingLine.MatchString(line) {
			name := strings.TrimSpace(line)
			counts = !strings.HasSuffix(name, "/image") && !strings.HasSuffix(name, "/memfd:zramfs (deleted)")
		}
		if kib := int64(0); counts {
			_, _ = fmt.Sscanf(line, "Pss: %d kB", &kib) // another line
			f.memory += kib << 10
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		tables := int64(0)
		_, _ = fmt.Sscanf(line, "VmPTE: %d kB", &tables) // another line
		_, _ = fmt.Sscanf(line, "Threads: %d", &f.threads)
		f.memory += tables << 10
	}
	return f
}
