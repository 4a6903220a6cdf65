// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/control"
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

// childDictionary writes the dictionary that it was passed, as a worker is.
func childDictionary() error {
	data, err := WorkerDictionary()
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%d:%s", len(data), data)
	return err
}

// A worker gets its keeper's dictionary behind its other descriptors, whatever the environment of
// the keeper says.
func TestDictionaryForWorker(t *testing.T) {
	a, data := dicttest.Algorithm(t)
	t.Setenv(dictionaryVariable, "12")
	for name, c := range map[string]struct {
		a      codec.Algorithm
		others int
		want   []byte
	}{
		"without a socket for locks": {a, 6, data},
		"with one":                   {a, 7, data},
		"none":                       {parse(t, "lz4"), 7, nil},
	} {
		f, err := control.DictionaryFile(c.a)
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
