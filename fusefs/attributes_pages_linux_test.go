// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// readAttribute reads a file in pieces, as one handle does.
func readAttribute(t *testing.T, f *fileSystem, name string, piece uint32) string {
	t.Helper()
	n := f.find(deviceNode, name)
	var open fuse.OpenOut
	if status := f.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: n.id, Unique: uint64(piece)}}, &open); !status.Ok() {
		t.Fatal(name, status)
	}
	defer f.Release(nil, &fuse.ReleaseIn{Fh: open.Fh})
	var all []byte
	for {
		in := &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: n.id}, Fh: open.Fh, Offset: uint64(len(all)), Size: piece}
		result, status := f.Read(nil, in, nil)
		if !status.Ok() {
			t.Fatal(name, status)
		}
		part, _ := result.Bytes(make([]byte, piece))
		if len(part) == 0 {
			return string(all)
		}
		all = append(all, part...)
	}
}

// writeAttribute writes a file, and returns the error number.
func writeAttribute(f *fileSystem, name, text string) fuse.Status {
	n := f.find(deviceNode, name)
	_, status := f.Write(nil, &fuse.WriteIn{InHeader: fuse.InHeader{NodeId: n.id, Unique: 99}}, []byte(text))
	return status
}

func TestBlockState(t *testing.T) {
	f := newTestFileSystem(t, 64<<20)
	random := make([]byte, pageSize)
	rng := rand.New(rand.NewPCG(1, 2))
	for page := uint64(0); page < 3000; page += 1 + rng.Uint64N(4) {
		content := bytes.Repeat([]byte{byte(page)}, pageSize)
		if page%3 == 0 {
			for i := range random {
				random[i] = byte(rng.Uint32())
			}
			content = random
		}
		if _, errno := writeData(f, page*pageSize, content); errno != 0 {
			t.Fatal(errno)
		}
	}
	whole := readAttribute(t, f, "block_state", 1<<20)
	lines := strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
	if want := int(f.store.Stats().OrigDataSize / pageSize); len(lines) != want {
		t.Errorf("%d lines, want one for each of %d pages", len(lines), want)
	}
	format := regexp.MustCompile(`^ {8}[ \d]{3}\d [ \d]{11}\d\.\d{6} (s\.\.\.\.\.|\.\.h\.\.\.)$`)
	for _, line := range lines {
		if !format.MatchString(line) {
			t.Fatalf("%q is no line", line)
		}
	}
	stamp := regexp.MustCompile(`\d+\.\d{6}`) // it moves with the clock
	for _, piece := range []uint32{40, 37, 1000, 4096} {
		got := readAttribute(t, f, "block_state", piece)
		if stamp.ReplaceAllString(got, "") != stamp.ReplaceAllString(whole, "") {
			t.Errorf("in pieces of %d bytes it reads differently: %d bytes, want %d", piece, len(got), len(whole))
		}
	}
	if status := writeAttribute(f, "idle", "all\n"); !status.Ok() {
		t.Fatal(status)
	}
	marked := readAttribute(t, f, "block_state", 4096)
	if huge := strings.Count(whole, "..h..."); strings.Count(marked, "..hi..") != huge || strings.Contains(marked, "s..i") {
		t.Errorf("idle marks %d of %d pages that are not same-filled", strings.Count(marked, "i"), huge)
	}
}

// TestRecompress makes pages of text smaller, once they are idle.
func TestRecompress(t *testing.T) {
	f := newTestFileSystem(t, 16<<20)
	text := bytes.Repeat([]byte("some text that repeats itself less than LZ4 would like; "), 80)
	rng := rand.New(rand.NewPCG(3, 4))
	for page := range uint64(200) {
		for i := 0; i < pageSize; i += 1 + int(rng.Uint32()%9) {
			text[i] = 'a' + byte(rng.Uint32()%16)
		}
		if _, errno := writeData(f, page*pageSize, text[:pageSize]); errno != 0 {
			t.Fatal(errno)
		}
	}
	before := f.store.Stats().ComprDataSize
	for _, c := range []struct {
		name, text string
		want       fuse.Status
	}{
		{"recompress", "type=idle", fuse.EINVAL}, // by what?
		{"recomp_algorithm", "algo=zstd priority=2", fuse.OK},
		{"recompress", "type", fuse.EINVAL}, {"recompress", "threshold=4096", fuse.EINVAL}, {"recompress", "max_pages=x", fuse.EINVAL},
		{"recompress", "threshold=x type=idle", fuse.EINVAL},
		{"recompress", "priority=1", fuse.EINVAL}, {"recompress", "algo=page", fuse.EINVAL}, {"recompress", "priority=99999999999", fuse.Status(unix.ERANGE)},
		{"recompress", "type=idle algo=zstd", fuse.OK}, // none is
	} {
		if got := writeAttribute(f, c.name, c.text); got != c.want {
			t.Errorf("%q to %s: %v, want %v", c.text, c.name, got, c.want)
		}
	}
	if now := f.store.Stats().ComprDataSize; now != before {
		t.Errorf("pages that are not idle were recompressed: %d bytes, before %d", now, before)
	}
	if got := writeAttribute(f, "idle", "all") | writeAttribute(f, "recompress", "type=idle priority=2 max_pages=50"); !got.Ok() {
		t.Fatal(got)
	}
	if now, done := f.store.Stats().ComprDataSize, strings.Count(readAttribute(t, f, "block_state", 4096), "r."); now >= before || done == 0 || done > 50 {
		t.Errorf("%d pages were recompressed, 50 at most, to %d bytes, before %d", done, now, before)
	}
}
