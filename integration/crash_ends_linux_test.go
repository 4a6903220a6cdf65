// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// TestKeeperKilled kills the keeper alone: the worker goes on, and the unused device can be
// unmounted as any other.
func TestKeeperKilled(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	require.Command(t, "losetup")
	dir := mount(t, "--size", crashSize)
	loop := attachments["losetup"](t, dir)
	served := statusOf(t, dir)
	v := startVerifier(t, verifyOrder{Path: loop, Bytes: crashBytes, Threads: 2, Seed: 3})
	v.ask(t, verifyLap)
	if err := unix.Kill(served.KeeperPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !waitEnd(served.KeeperPID, answerTimeout) {
		t.Fatalf("the keeper %d lives on", served.KeeperPID)
	}
	time.Sleep(time.Second / 4)
	if sum := v.end(t); sum.Requests == 0 {
		t.Error("nothing was done")
	}
	now := statusOf(t, dir)
	if now.WorkerPID != served.WorkerPID || now.SurvivesCrash {
		t.Errorf("without a keeper it says %+v", now)
	}
	detachLoops(t, dir)
	mustRun(t, commandTimeout, "umount", dir)
	if !waitEnd(served.WorkerPID, answerTimeout) {
		t.Errorf("the worker %d lives on", served.WorkerPID)
	}
	// The process that would have removed it is gone.
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Without a keeper nothing tells the worker of a directory that its extra devices have ended:
// umount ends it all the same, whichever device ends first.
func TestKeeperKilledWithExtraDevices(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for _, first := range []bool{false, true} {
		dir := mount(t, "--size", "16M")
		further := filepath.Join(dir, "devices", addDevice(t, dir))
		served := statusOf(t, dir)
		if err := unix.Kill(served.KeeperPID, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if !waitEnd(served.KeeperPID, answerTimeout) {
			t.Fatalf("the keeper %d lives on", served.KeeperPID)
		}
		if first {
			if err := unix.Unmount(filepath.Join(dir, "dev"), 0); err != nil {
				t.Fatal(err)
			}
		}
		mustRun(t, commandTimeout, "umount", further)
		if !first {
			mustRun(t, commandTimeout, "umount", dir)
		}
		if !waitEnd(served.WorkerPID, answerTimeout) {
			t.Errorf("umount of the data file first: %v: the worker %d lives on", first, served.WorkerPID)
		}
		if points, err := mountsBelow(dir); err != nil || len(points) > 0 {
			t.Errorf("umount of the data file first: %v: mounts are left: %v, %v", first, points, err)
		}
		// The process that would have removed it is gone.
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
}

// A keeper that is killed after it has told the old worker of an upgrade to stop, and before it
// tells the new one to serve, loses nothing: the new one serves once the old one has ended.
func TestKeeperKilledDuringUpgrade(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	accessPage(t, dir, "write")
	served := statusOf(t, dir)
	orders, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/3", served.WorkerPID), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer orders.Close()
	if err := unix.Kill(served.WorkerPID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	goOn := sync.OnceValue(func() error { return unix.Kill(served.WorkerPID, unix.SIGCONT) })
	t.Cleanup(func() { _ = goOn() }) // it may have ended
	said := make(chan result, 1)
	upgrade := command(t, "upgrade", dir)
	go func() { said <- runCommand(t, commandTimeout, upgrade) }()
	for end := time.Now().Add(commandTimeout); ; time.Sleep(time.Millisecond) {
		if n, err := unix.IoctlGetInt(int(orders.Fd()), unix.TIOCINQ); err != nil || time.Now().After(end) {
			t.Fatalf("the worker was not told to stop: %d bytes, %v", n, err)
		} else if n > 0 {
			break
		}
	}
	for _, kill := range []func() error{func() error { return unix.Kill(served.KeeperPID, unix.SIGKILL) }, goOn} {
		if err := kill(); err != nil {
			t.Fatal(err)
		}
	}
	if !waitEnd(served.KeeperPID, answerTimeout) || !waitEnd(served.WorkerPID, answerTimeout) {
		t.Fatal("the keeper or the worker lives on")
	}
	if r := <-said; r.Code != 1 {
		t.Errorf("upgrade says %q with exit code %d", r.Stderr, r.Code)
	}
	accessPage(t, dir, "read")
	now := statusOf(t, dir)
	if now.WorkerPID == served.WorkerPID || now.SurvivesCrash {
		t.Errorf("without a keeper it says %+v", now)
	}
	mustRun(t, commandTimeout, "umount", dir)
	if !waitEnd(now.WorkerPID, answerTimeout) {
		t.Errorf("the worker %d lives on", now.WorkerPID)
	}
	// The process that would have removed it is gone.
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestWorkersDieInARow kills eight workers, each as soon as it runs: the keeper says so and starts
// another after a longer pause each time, and the stored pages wait for their readers.
func TestWorkersDieInARow(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	f := startServe(t, dir, "--size", "16M")
	c := newCrashing(t, dir)
	accessPage(t, dir, "write")
	for range 8 {
		c.kill()
	}
	f.log.wait(t, "workers in a minute died")
	accessPage(t, dir, "read")
	c.settled()
	f.end(t)
}

// TestKeeperHoldsNothingOfTheDead wants the keeper of a device with a backing device to have as
// many descriptors open after many workers as after the first ones, whatever ended them.
func TestKeeperHoldsNothingOfTheDead(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M", "--spill", backingFile(t, 1<<20))
	replaceWorkers(t, dir)
}

// replaceWorkers has workers killed and upgraded, and wants nothing of them to stay in the keeper.
func replaceWorkers(t *testing.T, dir string) {
	t.Helper()
	c := newCrashing(t, dir)
	replace := func() {
		c.kill()
		c.settled()
		mustRun(t, commandTimeout, "upgrade", dir)
	}
	replace() // the keeper holds the program of an upgrade from then on
	first := openFiles(t, c.keeper)
	for range 3 {
		replace()
	}
	for end := time.Now().Add(leakPatience); openFiles(t, c.keeper) > first; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a few workers the keeper has %d files open, and %d after the first", openFiles(t, c.keeper), first)
		}
	}
}

// accessPage writes or reads a page of the device on dir from another process.
func accessPage(t *testing.T, dir, how string) {
	t.Helper()
	if r := runCommand(t, commandTimeout, clientCommand(t.Context(), crashReader, data(dir), how)); r.Code != 0 {
		t.Errorf("%s: %s", how, r.Stderr)
	}
}

// TestWithoutWorker keeps the keeper from starting workers: users of the device wait, and get an
// error as soon as the keeper has died too.
func TestWithoutWorker(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := filepath.Join(tempDir(t), "zram")
	f := startServe(t, dir, "--size", "16M")
	accessPage(t, dir, "write")
	endWorkers(t, f)
	if _, kind := image(t, f.pid); kind == "" {
		t.Error("the image is gone")
	}
	reader := clientCommand(t.Context(), crashReader, data(dir), "read")
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- reader.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("a read did not wait: %v", err)
	case <-time.After(time.Second):
	}
	f.kill(t) // gives it up: the connections end
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a read had an answer that no process can have given")
		}
	case <-time.After(answerTimeout):
		t.Error("a read waits although there is nothing to wait for")
	}
	mustRun(t, commandTimeout, "umount", dir)
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestKeeperEndsWithoutWorker ends a device without a worker in every possible way: the keeper
// ends, and its memory is free again.
func TestKeeperEndsWithoutWorker(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for name, giveUp := range map[string]func(t *testing.T, dir string, keeper int){
		"aborted": func(t *testing.T, dir string, _ int) { abortMount(t, filepath.Dir(data(dir))) },
		"unmounted": func(t *testing.T, dir string, _ int) {
			if err := unix.Unmount(filepath.Dir(data(dir)), 0); err != nil {
				t.Error(err)
			}
		},
		"terminated": func(t *testing.T, _ string, keeper int) {
			if err := unix.Kill(keeper, unix.SIGTERM); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(tempDir(t), "zram")
			f := startServe(t, dir, "--size", "16M")
			endWorkers(t, f)
			giveUp(t, dir, f.pid)
			if !f.waitEnd() {
				t.Errorf("the keeper %d lives on", f.pid)
				f.kill(t)
			}
			if points, err := mountsBelow(dir); err != nil || len(points) > 0 {
				t.Errorf("left mounted: %v, %v", points, err)
			}
		})
	}
}

// crashReader writes or reads a page of a device.
var crashReader = register("crash-reader", func(args []string) error {
	fd, err := unix.Open(args[0], unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p := make([]byte, pageSize)
	if args[1] == "write" {
		p[7] = 7
		_, err = unix.Pwrite(fd, p, 0)
		return errors.Join(err, unix.Close(fd))
	}
	_, err = unix.Pread(fd, p, 0)
	return err
})
