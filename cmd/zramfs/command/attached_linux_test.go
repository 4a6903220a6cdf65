// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

// detachedLoop attaches a loop device to a file zram0 whose mount is then detached.
func detachedLoop(t *testing.T) *loopsetup.Device {
	t.Helper()
	require.Root(t)
	require.Loop(t)
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "ramfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, detachedFile)
	err := os.WriteFile(path, make([]byte, 1<<20), 0o600)
	var loop *loopsetup.Device
	if err == nil {
		loop, err = loopsetup.Attach(path, &loopsetup.Config{NoDirectIO: true})
	}
	if err := errors.Join(err, detachMount(dir)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loop.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return loop
}

// TestAttachedHidden finds the devices of two detached data files, each by its record.
func TestAttachedHidden(t *testing.T) {
	one, two := detachedLoop(t), detachedLoop(t)
	info, err := loopsetup.Inspect(one.Path())
	if err != nil || info.Backing != detachedData || info.Sequence == 0 {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, test := range []struct {
		name  string
		noted []notedLoop
		want  []string
	}{
		{"nothing noted", nil, nil},
		{"name", []notedLoop{{Path: one.Path()}}, []string{one.Path()}},
		{"name and number", []notedLoop{{one.Path(), info.Sequence}}, []string{one.Path()}},
		{"attached to another file since", []notedLoop{{two.Path(), info.Sequence}}, nil},
		{"never there", []notedLoop{{"/dev/loop1048575", 7}, {"banana", 0}}, nil},
	} {
		d := device{Dir: "/run/zram", noted: test.noted}
		if loops, err := d.attached(); err != nil || !slices.Equal(loopPaths(loops), test.want) && len(loops)+len(test.want) > 0 {
			t.Errorf("%s: %v, %v; want %v", test.name, loops, err, test.want)
		}
	}
}

// TestOutOfSight looks for a device without a visible mount, as in another mount namespace, whose
// loop device exists: it may be swap, so it counts as running and its record stays.
func TestOutOfSight(t *testing.T) {
	loop := detachedLoop(t)
	info, err := loopsetup.Inspect(loop.Path())
	if err != nil {
		t.Fatal(err)
	}
	m := host.Root(t.TempDir())
	rec := record{Dir: "/run/nowhere", Loops: []notedLoop{{loop.Path(), info.Sequence}}}
	if err := rec.write(m); err != nil {
		t.Fatal(err)
	}
	find := func() []device {
		t.Helper()
		s, err := look(m)
		if err != nil {
			t.Fatal(err)
		}
		return devicesAt(s.devices, rec.Dir)
	}
	if found := find(); len(found) != 1 || !found[0].away || found[0].answer() != answerElsewhere || found[0].name() != loop.Path() {
		t.Errorf("%+v", found)
	}
	if err := forget(io.Discard, m, device{Dir: rec.Dir}); err != nil || len(readRecords(m)) != 1 {
		t.Errorf("the record is gone, %v", err)
	}
	if err := loop.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (device{Dir: rec.Dir, noted: rec.Loops}).waitDetached(); err != nil {
		t.Fatal(err)
	}
	if found := find(); len(found) != 0 {
		t.Errorf("once it is detached: %+v", found)
	}
	if err := forget(io.Discard, m, device{Dir: rec.Dir}); err != nil || len(readRecords(m)) != 0 {
		t.Errorf("once it is detached: the record is left, %v", err)
	}
}

// TestWaitDetachedKnowsItsOwn detaches a device and gives its number to another file at once.
func TestWaitDetachedKnowsItsOwn(t *testing.T) {
	loop := detachedLoop(t)
	d := device{Dir: "/run/zram", noted: []notedLoop{{Path: loop.Path()}}}
	loops, err := d.attached()
	if err != nil || len(loops) != 1 {
		t.Fatalf("%v, %v", loops, err)
	}
	d.noteLoops(loops)
	if err := loop.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.waitDetached(); err != nil {
		t.Fatal(err)
	}
	again := detachedLoop(t)
	if again.Path() != loop.Path() {
		t.Skipf("%s became %s: another program has it", loop.Path(), again.Path())
	}
	if loops, err := d.attached(); err != nil || len(loops) != 0 {
		t.Errorf("%v of another file is taken for the device's, %v", loops, err)
	}
}

// TestNoteStatus wants the sequence numbers of up's record kept.
func TestNoteStatus(t *testing.T) {
	d := device{noted: []notedLoop{{"/dev/loop8", 3}}}
	d.noteStatus([]string{"/dev/loop7", "/dev/loop8"})
	if want := []notedLoop{{"/dev/loop8", 3}, {Path: "/dev/loop7"}}; !slices.Equal(d.noted, want) {
		t.Errorf("%v, want %v", d.noted, want)
	}
}

// hideScript makes a device of two mounts without a server at $1, and calls hideData in the program
// behind descriptor 3. The mounts end with the namespace.
const hideScript = `
set -eu
mkdir "$1/dev" "$1/control"
[ "$2" = without ] || : > "$1/control/loops"
exec 4<>/dev/fuse
mount -i -t "$3" -o fd=4,rootmode=40000,user_id=0,group_id=0 zram0 "$1/dev"
timeout -s KILL 25 /proc/self/fd/3
[ "$2" = without ] || cat "$1/control/loops"
grep -c "$1/dev" /proc/self/mountinfo || :`

func TestHideData(t *testing.T) {
	attr := ownMounts(t)
	require.Command(t, "mount")
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	for _, test := range []struct{ notes, kind, want string }{
		{"with", dataType, "/dev/loop3\n/dev/loop4\n0\n"},
		{"without", dataType, "0\n"},
		{"with", "fuse.other", "/dev/loop3\n/dev/loop4\n1\n"},
	} {
		dir, err := os.MkdirTemp("/tmp", "zr-command-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", hideScript, "sh", dir, test.notes, test.kind)
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		*cmd.SysProcAttr = *attr
		cmd.Dir = "/"
		cmd.ExtraFiles = []*os.File{self}
		cmd.Env = append(os.Environ(), hideDir+"="+dir)
		if got := runCommand(t, cmd); got.code != 0 || got.stdout != test.want || got.stderr != "" {
			t.Errorf("%s, %s: %d, %q, %q; want %q", test.notes, test.kind, got.code, got.stdout, got.stderr, test.want)
		}
	}
}
