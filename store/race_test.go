// SPDX-License-Identifier: Apache-2.0

package store

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// The race detector watches the image: a race made on purpose is found. It is
// made in a process of its own, since it fails the one that it is in.
func TestF079DetectorSeesTheImage(t *testing.T) {
	if !raceEnabled {
		t.Skip("needs the race detector: go test -race")
	}
	if os.Getenv("ZRAMFS_TEST_RACE") != "" {
		raceOnPurpose(t)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestF079DetectorSeesTheImage$")
	cmd.Env = append(os.Environ(), "ZRAMFS_TEST_RACE=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "DATA RACE") {
		t.Errorf("a race on the image went unnoticed: %v\n%s", err, out)
	}
}

func raceOnPurpose(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	write(t, s, 3, content{3, 1, random}.bytes())
	p := s.image.Payload(s.idx.load(3).Where(), 8)
	good := p[0]
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 1000 {
				p[0]++
			}
		})
	}
	wg.Wait()
	p[0] = good
}
