// SPDX-License-Identifier: Apache-2.0

//go:build !race

package daemon

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"zramfs/codec"
	"zramfs/store"
)

// A keeper that has only an image hands that out, for reading only.
func TestImageIsHandedOut(t *testing.T) {
	dir := t.TempDir()
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := memory.File().WriteAt([]byte("image"), 4096); err != nil {
		t.Fatal(err)
	}
	a := parse(t, "lz4")
	k := &keeper{cfg: Config{Dir: dir, Algorithm: a}, memory: memory, log: slog.New(slog.DiscardHandler)}
	k.listen()
	t.Cleanup(func() {
		if err := errors.Join(k.takeApart(), memory.Close()); err != nil {
			t.Error(err)
		}
	})
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

// What keepers of other versions answer is told in words.
func TestImageOfAnotherVersion(t *testing.T) {
	for answer, want := range map[string]string{
		`{"error":"open the new program: open : no such file or directory"}` + "\n": "does not hand its image out",
		`{"image":true,"error":"only root"}` + "\n":                                 "only root",
		"":      "does not answer",
		"{]":    "does not answer",
		`{"ima`: "does not answer",
	} {
		dir := t.TempDir()
		l, err := net.ListenUnix("unix", controlAddress(dir))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 100)) // else the answer is lost with the request
			_, _ = c.Write([]byte(answer))
			_ = c.Close()
		}()
		if _, err := OpenImage(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", answer, err, want)
		}
		if err := l.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
}

func parse(t *testing.T, name string) codec.Algorithm {
	t.Helper()
	a, err := codec.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
