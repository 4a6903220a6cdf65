// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/dicttest"
)

func parse(t *testing.T, name string) codec.Algorithm {
	t.Helper()
	a, err := codec.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A command copes with a wrong number of descriptors.
func TestOddDescriptors(t *testing.T) {
	for name, c := range map[string]struct {
		answer imageAnswer
		files  int
		want   string // in the error
	}{
		"one too many":    {imageAnswer{Algorithm: "lz4"}, 2, ""},
		"one too few":     {imageAnswer{Algorithm: "lz4", Dictionary: true}, 1, "does not answer"},
		"none at all":     {imageAnswer{Error: "no memory", Dictionary: true}, 0, "no memory"},
		"far too many":    {imageAnswer{Algorithm: "lz4"}, 5, ""}, // the kernel drops those that there is no room for
		"nothing is said": {imageAnswer{}, 0, "the image was not sent"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text, err := json.Marshal(c.answer)
			if err != nil {
				t.Fatal(err)
			}
			answerOnce(t, dir, text, c.files)
			image, err := OpenImage(dir)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				return
			}
			if err != nil || image.Dictionary != nil || image.Algorithm != c.answer.Algorithm {
				t.Fatalf("%+v, %v", image, err)
			}
			if err := image.File.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// answerOnce answers one request in place of a keeper, with that number of descriptors.
func answerOnce(t *testing.T, dir string, answer []byte, files int) {
	t.Helper()
	l, _, err := listenAt(socketDirs(), socketName(dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		c, err := l.AcceptUnix()
		if err != nil {
			done <- err
			return
		}
		_, _ = c.Read(make([]byte, 100)) // else the answer is lost with the request
		var rights []byte
		if files > 0 {
			fds := make([]int, files)
			for i := range fds {
				fds[i] = int(null.Fd())
			}
			rights = unix.UnixRights(fds...)
		}
		_, _, err = c.WriteMsgUnix(answer, rights, nil)
		done <- errors.Join(err, c.Close())
	}()
	t.Cleanup(func() {
		if err := errors.Join(<-done, l.Close(), null.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A process that has the file cannot change it.
func TestDictionaryFileIsSealed(t *testing.T) {
	a, data := dicttest.Algorithm(t)
	f, err := DictionaryFile(a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0}, 0); !errors.Is(err, syscall.EPERM) {
		t.Errorf("write: %v, want EPERM", err)
	}
	if err := f.Truncate(1); !errors.Is(err, syscall.EPERM) {
		t.Errorf("truncate: %v, want EPERM", err)
	}
	if got, err := ReadDictionary(f); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if f, err := DictionaryFile(parse(t, "zstd")); f != nil || err != nil {
		t.Errorf("%v, %v for no dictionary", f, err)
	}
}
