// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/loopsetup"
)

// detachedLoop attaches a loop device to a file zram0 whose mount is then detached.
func detachedLoop(t *testing.T) *loopsetup.Device {
	t.Helper()
	return detachedLoopOn(t, t.TempDir())
}

// detachedLoopOn is detachedLoop with a mount on dir, which it makes.
func detachedLoopOn(t *testing.T, dir string) *loopsetup.Device {
	t.Helper()
	require.Root(t)
	require.Loop(t)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = unix.Mount("none", dir, "ramfs", 0, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, filepath.Base(DataFile))
	err = os.WriteFile(path, make([]byte, 1<<20), 0o600)
	var loop *loopsetup.Device
	if err == nil {
		loop, err = loopsetup.Attach(path, &loopsetup.Config{NoDirectIO: true})
	}
	if err := errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH)); err != nil {
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
	if err != nil || info.Backing != uprecord.DetachedData || info.Sequence == 0 {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, test := range []struct {
		name  string
		noted []uprecord.Loop
		want  []string
	}{
		{"nothing noted", nil, nil},
		{"name", []uprecord.Loop{{Path: one.Path()}}, []string{one.Path()}},
		{"name and number", []uprecord.Loop{{Path: one.Path(), Sequence: info.Sequence}}, []string{one.Path()}},
		{"attached to another file since", []uprecord.Loop{{Path: two.Path(), Sequence: info.Sequence}}, nil},
		{"never there", []uprecord.Loop{{Path: "/dev/loop1048575", Sequence: 7}, {Path: "banana", Sequence: 0}}, nil},
	} {
		d := Device{Dir: "/run/zram", Noted: test.noted}
		if loops, err := d.Attached(); err != nil || !slices.Equal(LoopPaths(loops), test.want) && len(loops)+len(test.want) > 0 {
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
	rec := uprecord.Record{Dir: "/run/nowhere", Loops: []uprecord.Loop{{Path: loop.Path(), Sequence: info.Sequence}}}
	if err := rec.Write(m); err != nil {
		t.Fatal(err)
	}
	find := func() []Device {
		t.Helper()
		s, err := look(m)
		if err != nil {
			t.Fatal(err)
		}
		return devicesAt(s.devices, rec.Dir)
	}
	if found := find(); len(found) != 1 || !found[0].Elsewhere || found[0].Answer() != answerElsewhere || found[0].Name() != loop.Path() {
		t.Errorf("%+v", found)
	}
	if all := uprecord.Read(m); len(all) != 1 || !all[0].Alive() {
		t.Errorf("the record counts as ended: %+v", all)
	}
	if err := loop.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (Device{Dir: rec.Dir, Noted: rec.Loops}).WaitDetached(); err != nil {
		t.Fatal(err)
	}
	if found := find(); len(found) != 0 {
		t.Errorf("once it is detached: %+v", found)
	}
	if all := uprecord.Read(m); len(all) != 1 || all[0].Alive() {
		t.Errorf("once it is detached: %+v", all)
	}
}

// TestWaitDetachedKnowsItsOwn detaches a device and gives its number to another file at once.
func TestWaitDetachedKnowsItsOwn(t *testing.T) {
	loop := detachedLoop(t)
	d := Device{Dir: "/run/zram", Noted: []uprecord.Loop{{Path: loop.Path()}}}
	loops, err := d.Attached()
	if err != nil || len(loops) != 1 {
		t.Fatalf("%v, %v", loops, err)
	}
	d.NoteLoops(loops)
	if err := loop.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.WaitDetached(); err != nil {
		t.Fatal(err)
	}
	again := detachedLoop(t)
	if again.Path() != loop.Path() {
		t.Skipf("%s became %s: another program has it", loop.Path(), again.Path())
	}
	if loops, err := d.Attached(); err != nil || len(loops) != 0 {
		t.Errorf("%v of another file is taken for the device's, %v", loops, err)
	}
}

// A device has ended while down waited for memory, and another one has the number of its loop
// device and is swap: that is not the swap which down turns off.
func TestAreasOfAnotherDevice(t *testing.T) {
	loop := detachedLoop(t)
	d := Device{Dir: "/run/zram", Noted: []uprecord.Loop{{Path: loop.Path()}}}
	loops, err := d.Attached()
	if err != nil || len(loops) != 1 {
		t.Fatalf("%v, %v", loops, err)
	}
	d.NoteLoops(loops)
	swaps := []loopsetup.Swap{{Path: "/dev/sda2"}, {Path: loop.Path(), Used: 1 << 20}}
	s := &survey{swaps: swaps}
	if areas, err := s.areasOn([]Device{d}); err != nil || len(areas) != 1 || areas[0] != swaps[1] {
		t.Errorf("%+v, %v", areas, err)
	}
	if err := errors.Join(loop.Close(), d.WaitDetached()); err != nil {
		t.Fatal(err)
	}
	if again := detachedLoop(t); again.Path() != loop.Path() {
		t.Skipf("%s became %s: another program has it", loop.Path(), again.Path())
	}
	if areas, err := s.areasOn([]Device{d}); err != nil || len(areas) != 0 {
		t.Errorf("%+v of another device, %v", areas, err)
	}
}

// A status may name any loop device. One counts that is on the data file, by the path by which it
// was attached; up's record is more exact.
func TestNoteStatus(t *testing.T) {
	theirs, dir := detachedLoop(t), t.TempDir()
	ours := detachedLoopOn(t, filepath.Join(dir, DataDir))
	d := Device{Dir: dir, Noted: []uprecord.Loop{{Path: "/dev/loop1048575", Sequence: 3}}}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	d.noteStatus(ctx, []string{theirs.Path(), ours.Path(), "/dev/loop1048575", "/dev/null", "banana"})
	if want := []uprecord.Loop{{Path: "/dev/loop1048575", Sequence: 3}, {Path: ours.Path()}}; !slices.Equal(d.Noted, want) {
		t.Errorf("%v, want %v", d.Noted, want)
	}
}

// A PID in a status counts if the arguments or the connections of that process are the device's.
func TestKeptBy(t *testing.T) {
	keeper := exec.Command("sh", "-c", `printf zramfsd >/proc/self/comm; read -r line`, status.ServerName, "keeper", "/run/zram")
	in, err := keeper.StdinPipe()
	if err == nil {
		err = keeper.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(in.Close(), keeper.Wait()) }() // sh ends with its input
	pid := keeper.Process.Pid
	for end := time.Now().Add(time.Minute); ServerAt(pid) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the process has not taken its name")
		}
	}
	for dir, want := range map[string]bool{"/run/zram": true, "/run/zram2": false, "": false} {
		if d := (Device{Dir: dir}); d.keptBy(pid) != want {
			t.Errorf("%q is kept by the process of /run/zram: %v", dir, !want)
		}
	}
	if d := (Device{Dir: "/run/zram"}); d.keptBy(os.Getpid()) || d.keptBy(0) {
		t.Error("any process counts")
	}
}
