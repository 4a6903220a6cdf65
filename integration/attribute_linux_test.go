// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// formats are the attributes' contents, as the kernel prints them
// (drivers/block/zram/zram_drv.c). They are tried on the kernel's own first.
var formats = map[string]*regexp.Regexp{
	"disksize":       regexp.MustCompile(`^\d+\n$`),
	"initstate":      regexp.MustCompile(`^1\n$`),
	"comp_algorithm": regexp.MustCompile(`^(?:[a-z0-9:-]+ )*\[lz4\] (?:[a-z0-9:-]+ )*\n$`),
	"mm_stat":        regexp.MustCompile(`^` + eightWide + `(?: ` + eightWide + `){8}\n$`),
	"debug_stat":     regexp.MustCompile(`^version: 1\n0 ` + eightWide + `\n$`),
	"stat":           regexp.MustCompile(`^` + eightWide + `(?: ` + eightWide + `){16}\n$`),
	"io_stat":        regexp.MustCompile(`^` + eightWide + ` ` + eightWide + ` 0 ` + eightWide + `\n$`),
}

// eightWide is a number printed with %8d: padded with blanks to eight columns, or
// longer.
const eightWide = `(?: {7}\d| {6}\d{2}| {5}\d{3}| {4}\d{4}| {3}\d{5}| {2}\d{6}| \d{7}|\d{8,})`

// TestAttributesForEverybody reads all attributes as another user while the device is at work. That
// user must not open the data file, which holds the memory of all users.
func TestAttributesForEverybody(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	dir := mount(t, "--size", "16M")
	s := openShadow(t, dir)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for round := uint64(0); ; round++ {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := s.churn(rand.New(rand.NewPCG(23, round)), 0, len(s.want), 50); err != nil {
				stopped <- err
				return
			}
		}
	}()
	cmd := clientCommand(t.Context(), visitor, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	if r := runCommand(t, clientTimeout, cmd); r.Code != 0 {
		t.Errorf("%s%s", r.Stdout, r.Stderr)
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// unprivileged is a user without any privilege.
const unprivileged = 65534

// visitRounds is how often the visitor reads everything.
const visitRounds = 100

// visitor does what another user may do with a device, and tries what it may not.
var visitor = register("visitor", func(args []string) error {
	dir := args[0]
	if os.Geteuid() != unprivileged {
		return fmt.Errorf("it is user %d", os.Geteuid())
	}
	for _, flags := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR} {
		fd, err := unix.Open(data(dir), flags, 0)
		if !errors.Is(err, unix.EACCES) {
			return fmt.Errorf("open the data file with flags %#x: descriptor %d, %w, want EACCES", flags, fd, err)
		}
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && path != data(dir) && modeOf(path)&0o004 != 0 {
			names = append(names, path)
		}
		return err
	})
	if err != nil || len(names) < 8 {
		return fmt.Errorf("found the files %v: %w", names, err)
	}
	for range visitRounds {
		for _, name := range names {
			if err := visit(name); err != nil {
				return err
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "block/zram0/mem_limit"), []byte("0"), 0); !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("write to an attribute: %w, want EACCES", err)
	}
	return nil
})

// visit reads an attribute.
func visit(name string) error {
	began := time.Now()
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	format := formats[filepath.Base(name)]
	if filepath.Base(name) == "comp_algorithm" {
		format = regexp.MustCompile(`^\[adaptive\] page page:dense lz4 lz4:fast zstd raw \n$`)
	}
	if len(text) == 0 && filepath.Base(name) != "recomp_algorithm" || format != nil && !format.Match(text) {
		return fmt.Errorf("%s is %q", name, text)
	}
	if took := time.Since(began); took > answerTimeout {
		return fmt.Errorf("%s took %s", name, took)
	}
	return nil
}

// TestAttributeModes compares the permissions with what is promised.
func TestAttributeModes(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	dir := mount(t, "--size", "16M")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := modeOf(path)
		if d.IsDir() {
			want = fs.ModeDir | 0o755
		}
		if owner := info.Sys().(*syscall.Stat_t); info.Mode() != want || owner.Uid != 0 || owner.Gid != 0 {
			t.Errorf("%s is %v of user %d, group %d; want %v of root", path, info.Mode(), owner.Uid, owner.Gid, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// modeOf returns the promised permissions of a file, those of the kernel's.
func modeOf(path string) fs.FileMode {
	switch filepath.Base(path) {
	case "zram0", "loops":
		return 0o600
	case "hot_add", "block_state":
		return 0o400
	case "algorithm_params", "compact", "hot_remove", "idle", "recompress", "reset", "writeback":
		return 0o200
	case "backing_dev", "comp_algorithm", "disksize", "max_comp_streams", "mem_limit", "mem_used_max", "recomp_algorithm", "writeback_limit", "writeback_limit_enable":
		return 0o644
	}
	return 0o444
}

func itoa(n int) string { return strconv.Itoa(n) }

// statField returns a figure of mm_stat, counted from 0.
func statField(t testing.TB, dir string, n int) uint64 {
	t.Helper()
	return field(t, attribute(t, dir, "mm_stat"), n)
}

func field(t testing.TB, line string, n int) uint64 {
	t.Helper()
	fields := strings.Fields(line)
	if n >= len(fields) {
		t.Fatalf("%q has no field %d", line, n)
	}
	v, err := strconv.ParseUint(fields[n], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
