// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// A damaged snapshot changes nothing on a device, forced or not, and the message has the position.
func TestSnapshotDamaged(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	from, to, in := mount(t, "--size", "32M"), mount(t, "--size", "32M"), tempDir(t)
	fillDevice(t, contentFile(t, bytes.Join(pages.Mix(5000, 6), nil), 32<<20), from, 5000)
	held := contentFile(t, bytes.Join(pages.Mix(3000, 7), nil), 32<<20)
	fillDevice(t, held, to, 3000)
	good, bad := filepath.Join(in, "saved"), filepath.Join(in, "damaged")
	mustRun(t, commandTimeout, "snapshot", "save", from, good)
	file, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	before := statusOf(t, to).IO
	refused := func(damaged []byte, want string) {
		t.Helper()
		if err := os.WriteFile(bad, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, flags := range [][]string{{"--force"}, {"--force", "--resume"}} {
			args := append([]string{"snapshot", "restore", bad, to}, flags...)
			if r := run(t, commandTimeout, args...); r.Code != 1 || !strings.Contains(r.Stderr, want) {
				t.Errorf("%v: exit code %d: %s, want %q", flags, r.Code, r.Stderr, want)
			}
		}
	}
	rng := rand.New(rand.NewPCG(16, 16))
	for range 12 {
		damaged := bytes.Clone(file)
		at := 16 + rng.IntN(len(file)-16)
		damaged[at] ^= 1 << rng.IntN(8)
		if err := os.WriteFile(bad, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		where := "damaged at offset 0, in the pages from 0 on"
		if at >= 32 {
			d := inspect(t, bad).Inspect.Damage
			if d == nil || d.Offset > int64(at) {
				t.Fatalf("byte %d: inspect says %+v", at, d)
			}
			where = fmt.Sprintf("damaged at offset %d, in the pages from %d on", d.Offset, d.Page)
		}
		refused(damaged, where)
	}
	refused(file[:len(file)/2], fmt.Sprintf("the file ends at offset %d", len(file)/2))
	other := bytes.Clone(file)
	other[8] = 2
	refused(other, "it has version 2 of the format")
	if s := statusOf(t, to).IO; s.Writes != before.Writes || s.Discards != before.Discards {
		t.Errorf("pages were written: %+v, then %+v", before, s)
	}
	system(t, commandTimeout, "cmp", held, data(to))
	mustRun(t, commandTimeout, "snapshot", "restore", "--force", good, to)
	system(t, commandTimeout, "cmp", data(from), data(to))
}

// killedAfter runs a command and kills it after some time, unless it has ended.
func killedAfter(t *testing.T, after time.Duration, args ...string) (killed bool) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := command(t, args...)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Kill() // it may have ended
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code > 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr.String())
	}
	return err != nil
}

// Saves and restores that are killed at any moment leave no file under the final name, and go on
// where they ended.
func TestSnapshotKilled(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	const size = 96 << 20
	from, to, in := mount(t, "--size", "96M"), mount(t, "--size", "96M"), tempDir(t)
	want := contentFile(t, bytes.Join(append(pages.Mix(8000, 6), pages.Generate(pages.Random, 14000, 6)...), nil), size)
	fillDevice(t, want, from, size/pageSize)
	rng := rand.New(rand.NewPCG(require.Seed(t, 1), 1))
	file := filepath.Join(in, "saved")
	save := func() []string {
		flag := "--resume"
		if _, err := os.Stat(file + ".partial"); err != nil {
			flag = "--force"
		}
		return []string{"snapshot", "save", flag, from, file}
	}
	after, kills := time.Duration(0), 0
	for ; killedAfter(t, after, save()...); kills++ {
		if _, err := os.Stat(file); err == nil { // it was killed behind its end
			break
		}
		after += time.Duration(10+rng.IntN(50)) * time.Millisecond
	}
	t.Logf("%d saves were killed, the last after less than %v", kills, after)
	onlyFile(t, file)
	if d := inspect(t, file).Inspect.Damage; d != nil {
		t.Fatalf("the file under the final name is damaged: %+v", d)
	}
	restore := []string{"snapshot", "restore", "--resume", file, to}
	stages := map[uint64]bool{}
	for after, kills = 0, 0; killedAfter(t, after, restore...); kills++ {
		stages[statusOf(t, to).Memory.PagesStored] = true
		after += time.Duration(10+rng.IntN(50)) * time.Millisecond
	}
	t.Logf("%d restores were killed, at %d different numbers of pages", kills, len(stages))
	mustRun(t, commandTimeout, restore...)
	system(t, commandTimeout, "cmp", want, data(to))
	if v := scrub(t, to).Verify; v.Wrong != 0 {
		t.Errorf("verify says %+v", v)
	}
}

// A save that is resumed holds what the device holds now, and one of another device is refused. A
// restore goes on only with a device that holds nothing else.
func TestSnapshotResumed(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	from, in := mount(t, "--size", "64M"), tempDir(t)
	want := contentFile(t, bytes.Join(pages.Mix(12000, 6), nil), 64<<20)
	fillDevice(t, want, from, 12000)
	file := filepath.Join(in, "saved")
	mustRun(t, commandTimeout, "snapshot", "save", from, file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	partial := filepath.Join(in, "next.partial")
	if err := os.WriteFile(partial, whole[:len(whole)*3/4], 0o600); err != nil {
		t.Fatal(err)
	}
	larger := mount(t, "--size", "80M")
	if r := run(t, commandTimeout, "snapshot", "save", "--resume", larger, filepath.Join(in, "next")); r.Code != 1 || !strings.Contains(r.Stderr, "other size or algorithm") {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
	if info, err := os.Stat(partial); err != nil || info.Size() != int64(len(whole)*3/4) {
		t.Errorf("what was left is changed: %+v, %v", info, err)
	}
	if r := run(t, commandTimeout, "snapshot", "save", from, filepath.Join(in, "next")); r.Code != 1 || !strings.Contains(r.Stderr, "--resume goes on with it") {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
	changed := bytes.Join(pages.Generate(pages.Text, 1, 99), nil)
	writePage(t, from, 5000, changed)
	if r := mustRun(t, commandTimeout, "snapshot", "save", "--resume", from, filepath.Join(in, "next")); !strings.Contains(r.Stdout, " of them were there already") {
		t.Errorf("it says %q", r.Stdout)
	}
	to := mount(t, "--size", "64M", "-a", "lz4")
	mustRun(t, commandTimeout, "snapshot", "restore", filepath.Join(in, "next"), to)
	system(t, commandTimeout, "cmp", data(from), data(to))
	for _, page := range []int{5000, 13000} { // in a block of the snapshot, and behind all
		writePage(t, to, page, bytes.Join(pages.Generate(pages.Text, 1, 98), nil))
		r := run(t, commandTimeout, "snapshot", "restore", "--resume", filepath.Join(in, "next"), to)
		if r.Code != 1 || !strings.Contains(r.Stderr, fmt.Sprintf("page %d: the device holds something else there", page)) {
			t.Errorf("exit code %d: %s", r.Code, r.Stderr)
		}
		mustRun(t, commandTimeout, "snapshot", "restore", "--resume", "--force", filepath.Join(in, "next"), to)
		system(t, commandTimeout, "cmp", data(from), data(to))
	}
}

// A device that is written to is saved by --live only, and the snapshot says so; each page is one
// that was written.
func TestSnapshotLive(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	from, to, in := mount(t, "--size", "64M"), mount(t, "--size", "64M"), tempDir(t)
	file := filepath.Join(in, "saved")
	fillDevice(t, contentFile(t, bytes.Join(pages.Mix(16000, 6), nil), 64<<20), from, 16000)
	f := openData(t, from, 0)
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		text := bytes.Join(pages.Generate(pages.Text, 64, 8), nil)
		for n := int64(0); ; n = (n + 1) % 250 {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if _, err := f.WriteAt(text, n*int64(len(text))); err != nil {
				ended <- err
				return
			}
		}
	}()
	refused := run(t, commandTimeout, "snapshot", "save", from, file)
	live := run(t, commandTimeout, "snapshot", "save", "--live", from, file)
	close(stop)
	if err := errors.Join(<-ended, f.Close()); err != nil {
		t.Error(err)
	}
	if refused.Code != 1 || !strings.Contains(refused.Stderr, "it is in use") {
		t.Errorf("exit code %d: %s", refused.Code, refused.Stderr)
	}
	if live.Code != 0 || !strings.Contains(live.Stdout, "pages of different moments") || inspect(t, file).Inspect.OneMoment {
		t.Errorf("exit code %d: %s%s", live.Code, live.Stdout, live.Stderr)
	}
	mustRun(t, commandTimeout, "snapshot", "restore", file, to)
	if v := scrub(t, to).Verify; v.Wrong != 0 {
		t.Errorf("verify says %+v", v)
	}
}
