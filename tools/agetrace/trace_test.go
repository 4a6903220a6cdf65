// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

// Lines of the kernel become requests, and anything else does not.
func TestParse(t *testing.T) {
	const prefix = "  kswapd0-47  [000] ..... "
	for line, want := range map[string]request{
		prefix + "12.500000: block_bio_queue: 7,0 WS 1024 + 8 [kswapd0]":       {12.5, 'w', 128, 1},
		prefix + "13.000000: block_bio_queue: 7,0 RA 16 + 32 [node]":           {13, 'r', 2, 4},
		prefix + "13.000000: block_bio_queue: 7,0 DS 0 + 4096 [swapon]":        {13, 'd', 0, 512},
		prefix + "13.000000: block_bio_queue: 7,0 FF 0 + 0 [sync]":             {},
		prefix + "13.000000: block_rq_issue: 7,0 WS 4096 () 1024 + 8 [kswapd]": {},
		prefix + "now: block_bio_queue: 7,0 WS 1024 + 8 [kswapd0]":             {},
		"CPU:0 [LOST 12 EVENTS]": {},
	} {
		if got, ok := parse(line); ok != (want.kind != 0) || ok && got != want {
			t.Errorf("%q is %+v, %t, want %+v", line, got, ok, want)
		}
	}
}

// A file has the lines of all requests, in whole seconds since the first, each against the one
// before.
func TestWriter(t *testing.T) {
	text := written(t, 1, request{12.5, 'w', 100, 2}, request{12.6, 'w', 102, 4}, request{14.6, 'r', 96, 1})
	if want := "# here\n0 w 100 2\n0 w 2 2\n0 w 2 2\n2 r -8 1\n"; text != want {
		t.Errorf("the file is %q, want %q", text, want)
	}
}

// An eighth of the groups of pages is kept, and each is whole.
func TestKeep(t *testing.T) {
	const pages, keep = 1 << 16, 8
	text := written(t, keep, request{1, 'w', 0, pages})
	lines := strings.Count(text, "\n") - 1
	if whole := strings.Count(text, " 8\n"); whole != lines || lines < pages/groupPages/keep*3/4 || lines > pages/groupPages/keep*5/4 {
		t.Errorf("%d groups of %d, %d of them whole", lines, pages/groupPages, whole)
	}
}

func written(t *testing.T, keep uint64, all ...request) string {
	t.Helper()
	var file bytes.Buffer
	w := newWriter(&file, keep)
	if err := w.remark("here"); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if err := w.add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.z.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
