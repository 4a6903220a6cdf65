// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/imageio"
)

// A program that is built with GPUs measures two of them.
func TestBulkMeasuresGPUs(t *testing.T) {
	t.Setenv(gpusVariable, "devices=2")
	b := bulkOf(t, "--algorithm", "lz4", "--batch", "64", "--gpu-batch", "32", "--gpu-ring-slots", "2", "--seconds", "0.01")
	if !slices.Equal(b.Engines, []string{"gpu0", "gpu1"}) || len(b.Missing)+len(b.Trouble) != 0 {
		t.Errorf("%+v", b)
	}
	for _, r := range b.Results {
		if alone := !strings.HasPrefix(r.By, imageio.CPUName); alone && (r.By != "gpu0+gpu1" || r.Share < 0.5) {
			t.Errorf("%+v", r)
		}
	}
}

// The report names a GPU that stops answering; the CPU has done its work.
func TestBulkWithASilentGPU(t *testing.T) {
	t.Setenv(gpusVariable, "silent=3000")
	b := bulkOf(t, "--algorithm", "lz4", "--batch", "64", "--gpu-batch", "32", "--seconds", "0.01")
	if len(b.Trouble) != 1 || !strings.HasPrefix(b.Trouble[0], "gpu0: ") || b.Engines[0] != "gpu0" {
		t.Errorf("%q, %+v", b.Trouble, b)
	}
}

// Without a GPU the CPU is measured; where a GPU is required that is an error.
func TestBulkWithoutAGPU(t *testing.T) {
	t.Setenv(gpusVariable, "devices=0")
	b := bulkOf(t, "--algorithm", "lz4", "--batch", "64")
	if len(b.Engines) != 0 || len(b.Missing) != 1 || b.Batch != 64 {
		t.Errorf("%+v", b)
	}
	if got := runProgram(t, "bench", "bulk", "--gpu", "require", "--batch", "64"); got.code != exitFailure || !strings.Contains(got.stderr, "a GPU is required") {
		t.Errorf("%+v", got)
	}
	if b := bulkOf(t, "--algorithm", "lz4", "--batch", "64", "--gpu", "off"); len(b.Missing) != 0 {
		t.Errorf("%+v", b)
	}
}
