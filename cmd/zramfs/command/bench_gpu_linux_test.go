// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec/bulk"
)

// A program that is built with GPUs measures two of them, their links and what memory they know,
// and judges the claims; those that take a large batch are open.
func TestBulkMeasuresGPUs(t *testing.T) {
	t.Setenv(gpusVariable, "devices=2")
	b := bulkOf(t, "--algorithm", "lz4", "--batch", "64", "--gpu-batch", "32", "--gpu-ring-slots", "2", "--seconds", "0.01")
	if !slices.Equal(b.Engines, []string{"gpu0", "gpu1"}) || len(b.Missing)+len(b.Trouble) != 0 || len(b.Links) != 2 || len(b.Crossovers) != 3 {
		t.Errorf("%+v", b)
	}
	for _, l := range b.Links {
		if !(l.ToDevice > 0 && l.FromDevice > 0 && l.BothWays > 0 && l.KernelReads > 0 && l.KernelWrites > 0) {
			t.Errorf("%+v", l)
		}
	}
	for _, r := range b.Results {
		if r.mode() == bulk.EnginesAlone && (r.By != "gpu0+gpu1" || r.Share < 0.5) {
			t.Errorf("%+v", r)
		}
	}
	for _, c := range b.Criteria {
		if c.Criterion == "G.118" && (c.Verdict != open || c.Algorithm != "lz4" || !strings.Contains(c.Why, "10 GB")) || c.Criterion == "G.120" && c.Verdict != survived {
			t.Errorf("%+v", c)
		}
	}
}

// A GPU that stops answering is told of, and what is claimed of it is open: the CPU has done all.
func TestBulkWithASilentGPU(t *testing.T) {
	t.Setenv(gpusVariable, "silent=300")
	b := bulkOf(t, "--algorithm", "lz4", "--batch", "64", "--gpu-batch", "32", "--seconds", "0.01")
	if len(b.Trouble) != 2 || !strings.Contains(b.Trouble[0], "link") || !strings.HasPrefix(b.Trouble[1], "gpu0: ") || b.Engines[0] != "gpu0" {
		t.Errorf("%q, %+v", b.Trouble, b)
	}
	for _, c := range b.Criteria {
		if c.Criterion != "G.119" && (c.Verdict != open || c.Why == "") {
			t.Errorf("%+v", c)
		}
	}
}

// Without the GPU that is wanted the CPU is measured, and what is claimed of one is open; where it
// is required that is an error.
func TestBulkWithoutAGPU(t *testing.T) {
	t.Setenv(gpusVariable, "devices=0")
	b := bulkOf(t, "--algorithm", "lz4", "--batch", "64")
	if len(b.Engines) != 0 || len(b.Missing) != 1 || b.Batch != 64 || b.Criteria[0].Verdict != open || !strings.Contains(b.Criteria[0].Why, "no engine") {
		t.Errorf("%+v", b)
	}
	if got := runProgram(t, "bench", "bulk", "--gpu", "require", "--batch", "64"); got.code != exitFailure || !strings.Contains(got.stderr, "a GPU is required") {
		t.Errorf("%+v", got)
	}
	if b := bulkOf(t, "--algorithm", "lz4", "--batch", "64", "--gpu", "off"); len(b.Missing) != 0 {
		t.Errorf("%+v", b)
	}
}
