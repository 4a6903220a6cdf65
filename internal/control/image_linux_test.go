// SPDX-License-Identifier: Apache-2.0

//go:build !race

package control

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/dicttest"
	"github.com/zramfs/zramfs/store"
)

// keeperOf returns a keeper that has only an image to hand out.
func keeperOf(dir string, a codec.Algorithm, memory *store.Memory) Keeper {
	return Keeper{Dir: dir, Algorithm: a, Image: memory.File, Warn: func(string) {}}
}

// keepImage listens for the keeper of an image, which has a word at its second page.
func keepImage(t *testing.T, a codec.Algorithm) (dir string) {
	t.Helper()
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := memory.File().WriteAt([]byte("image"), 4096); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	l, _, err := Listen(keeperOf(dir, a, memory))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A keeper hands its image out for reading only.
func TestImageIsHandedOut(t *testing.T) {
	dir := keepImage(t, parse(t, "lz4"))
	for range 3 {
		image, err := OpenImage(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := image.File.ReadAt(got, 4096); err != nil || string(got) != "image" || image.Algorithm != "lz4" {
			t.Errorf("%q, %q, %v", got, image.Algorithm, err)
		}
		if _, err := image.File.WriteAt(got, 0); !errors.Is(err, syscall.EBADF) {
			t.Errorf("write: %v, want EBADF", err)
		}
		if err := image.File.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenImage(dir + "-other"); !errors.Is(err, ErrNoKeeper) {
		t.Errorf("no device: %v, want ErrNoKeeper", err)
	}
}

// The dictionary that is handed out is that of the keeper.
func TestDictionaryIsHandedOut(t *testing.T) {
	a, data := dicttest.Algorithm(t)
	dir := keepImage(t, a)
	for range 3 {
		image, err := OpenImage(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(image.Dictionary, data) || image.Algorithm != a.String() {
			t.Errorf("a dictionary of %d bytes for %s, want %d for %s", len(image.Dictionary), image.Algorithm, len(data), a)
		}
		if err := image.File.Close(); err != nil {
			t.Error(err)
		}
	}
	if got, err := DeviceDictionary(dir); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v, want %d", len(got), err, len(data))
	}
	if got, err := DeviceDictionary(keepImage(t, parse(t, "lz4"))); err != nil || got != nil {
		t.Errorf("%d bytes of a device without a dictionary, %v", len(got), err)
	}
}

// Without its dictionary the image is not handed out: the command would read it with what the
// dictionary's file holds by now.
func TestNoImageWithoutItsDictionary(t *testing.T) {
	a, _ := dicttest.Algorithm(t)
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, _, err := listenAt(socketDirs(), socketName(dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	asking, err := ask(dir, request{Image: true}, answerTime)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	restore := oneMoreFile(t)
	keeperOf(dir, a, memory).sendImage(asked)
	restore()
	var answer imageAnswer
	files, err := readAnswer(asking, &answer, "image", "dictionary")
	if err != nil || len(files) != 0 || answer.Dictionary || !strings.Contains(answer.Error, "too many open files") {
		t.Errorf("%+v with %d files, %v", answer, len(files), err)
	}
	if err := errors.Join(closeAll(files), asking.Close(), asked.Close(), l.Close(), memory.Close()); err != nil {
		t.Error(err)
	}
}

// oneMoreFile lets the process open only one more file, until restore.
func oneMoreFile(t *testing.T) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	next, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Close(next), unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next) + 1, Max: was.Max})); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	}
}

// A command explains answers that it does not expect.
func TestOddImageAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		"{}\n":                         "the image was not sent",
		`{"error":"only root"}` + "\n": "only root",
		"":                             "does not answer",
		"{]":                           "does not answer",
		`{"ima`:                        "does not answer",
	} {
		dir := t.TempDir()
		answerOnce(t, dir, []byte(answer), 0)
		if _, err := OpenImage(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", answer, err, want)
		}
	}
}

// Connections that say nothing do not keep others from an answer.
func TestIdleConnection(t *testing.T) {
	image := keepImage(t, parse(t, "lz4"))
	_, imports, _ := importable(t, 0)
	for name, ask := range map[string]func() error{
		socketName(image, 0): func() error {
			i, err := OpenImage(image)
			if err == nil {
				err = i.File.Close()
			}
			return err
		},
		importName(imports, testConnection): func() error {
			i := openImport(t, imports)
			return errors.Join(i.Object(1, codec.Raw, randomPage(1)), i.Flush(), i.Close())
		},
	} {
		var idle []*net.UnixConn
		for range 3 {
			c, err := dial(socketDirs(), name)
			if err != nil {
				t.Fatal(err)
			}
			idle = append(idle, c)
		}
		began := time.Now()
		if err := ask(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > answerTime/2 {
			t.Errorf("%s: an answer took %v", name, took)
		}
		for _, c := range idle {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
