// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

const (
	someMeminfo = "MemTotal:       24683744 kB\nMemFree:        23979000 kB\nMemAvailable:   23889152 kB\nSwapCached:            0 kB\n" +
		"SwapTotal:       4194300 kB\nSwapFree:        4194200 kB\n"
	someSwaps = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/loop0                              partition\t262140\t\t100\t\t100\n" +
		"/dev/loop1                              partition\t262140\t\t0\t\t99\n/dev/sda2                               partition\t3670020\t0\t\t-2\n"
	somePressure = "some avg10=1.25 avg60=0.50 avg300=0.10 total=123456\nfull avg10=0.75 avg60=0.20 avg300=0.05 total=23456\n"
)

// kernelFiles makes files of the kernel below a directory.
func kernelFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestSample(t *testing.T) {
	files := map[string]string{"proc/meminfo": someMeminfo, "proc/swaps": someSwaps, "proc/pressure/memory": somePressure}
	want := sample{swapTotal: 4194300 << 10, swapFree: 4194200 << 10, own: 524280 << 10, memTotal: 24683744 << 10,
		memAvailable: 23889152 << 10, pressure: 125}
	root := kernelFiles(t, files)
	r, err := newReader(root, []string{"/dev/loop0", "/dev/loop1"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if got, err := r.sample(); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = r.sample() }); n > 0 {
		t.Errorf("a sample takes memory %v times", n)
	}
	if err := os.WriteFile(filepath.Join(root, "proc/meminfo"), []byte("MemTotal: 1 kB\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.sample(); !errors.Is(err, errNoField) {
		t.Errorf("without SwapTotal: %v", err)
	}
}

// A kernel without PSI reports no pressure.
func TestSampleWithoutPressure(t *testing.T) {
	r, err := newReader(kernelFiles(t, map[string]string{"proc/meminfo": someMeminfo, "proc/swaps": someSwaps}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if s, err := r.sample(); err != nil || s.pressure != unknownPressure || s.own != 0 || s.swapTotal == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
