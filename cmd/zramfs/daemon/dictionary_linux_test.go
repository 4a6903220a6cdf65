// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
)

func parse(t *testing.T, name string) codec.Algorithm {
	t.Helper()
	a, err := codec.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// withDictionary is an algorithm with a dictionary, whose file is nowhere.
func withDictionary(t *testing.T) (a codec.Algorithm, data []byte) {
	t.Helper()
	data, err := codec.TrainDictionary(pages.Generate(pages.Text, 400, 5), 1, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	if a, err = parse(t, "zstd(level=1,dict=/none)").WithDictionary("/none", data); err != nil {
		t.Fatal(err)
	}
	return a, data
}

// What else a keeper may answer: one of an earlier version knows of no dictionary, one with a
// defect sends another number of descriptors.
func TestDictionaryOfAnotherVersion(t *testing.T) {
	for name, c := range map[string]struct {
		answer imageAnswer
		files  int
		want   string // in the error
	}{
		"earlier":         {imageAnswer{Image: true, Algorithm: "zstd(dict=/none)"}, 1, ""},
		"one too many":    {imageAnswer{Image: true, Algorithm: "lz4"}, 2, ""},
		"one too few":     {imageAnswer{Image: true, Algorithm: "lz4", Dictionary: true}, 1, "does not answer"},
		"none at all":     {imageAnswer{Image: true, Error: "no memory", Dictionary: true}, 0, "no memory"},
		"far too many":    {imageAnswer{Image: true, Algorithm: "lz4"}, 5, ""}, // the kernel drops those that there is no room for
		"nothing is said": {imageAnswer{}, 0, "does not hand its image out"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			answerOnce(t, dir, c.answer, c.files)
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

// answerOnce is a keeper that answers one request with this, and so many descriptors.
func answerOnce(t *testing.T, dir string, a imageAnswer, files int) {
	t.Helper()
	l, _, err := listenAt(controlDirs(), socketName(dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(a)
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
		_, _, err = c.WriteMsgUnix(text, rights, nil)
		done <- errors.Join(err, c.Close())
	}()
	t.Cleanup(func() {
		if err := errors.Join(<-done, l.Close(), null.Close()); err != nil {
			t.Error(err)
		}
	})
}

// Nobody who has the file can change it.
func TestDictionaryFileIsSealed(t *testing.T) {
	a, data := withDictionary(t)
	f, err := dictionaryFile(a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0}, 0); !errors.Is(err, syscall.EPERM) {
		t.Errorf("write: %v, want EPERM", err)
	}
	if err := f.Truncate(1); !errors.Is(err, syscall.EPERM) {
		t.Errorf("truncate: %v, want EPERM", err)
	}
	if got, err := readDictionary(f); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if f, err := dictionaryFile(parse(t, "zstd")); f != nil || err != nil {
		t.Errorf("%v, %v for no dictionary", f, err)
	}
}

// childDictionary writes what it was given, as a worker is.
func childDictionary() error {
	data, err := WorkerDictionary()
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%d:%s", len(data), data)
	return err
}

// A worker gets its keeper's dictionary behind what else it is given, and nothing of what somebody
// wrote into the environment.
func TestDictionaryForWorker(t *testing.T) {
	a, data := withDictionary(t)
	t.Setenv(dictionaryVariable, "12")
	for name, c := range map[string]struct {
		a      codec.Algorithm
		others int
		want   []byte
	}{
		"without a holder": {a, 6, data},
		"with one":         {a, 7, data},
		"none":             {parse(t, "lz4"), 7, nil},
	} {
		f, err := dictionaryFile(c.a)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe", "dictionary")
		for range c.others {
			cmd.ExtraFiles = append(cmd.ExtraFiles, os.Stdin)
		}
		passDictionary(cmd, f)
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Equal(out, fmt.Appendf(nil, "%d:%s", len(c.want), c.want)) {
			t.Errorf("%s: %v: %.100q", name, err, out)
		}
		if f != nil {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, word := range []string{"x", "-1", "3", "99999999999", "200"} {
		t.Setenv(dictionaryVariable, word)
		if data, err := WorkerDictionary(); err == nil {
			t.Errorf("descriptor %s: %d bytes", word, len(data))
		}
	}
}
