// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// A fault is a mistake to plant in a source, so that the simulation proves that it would find it.
type fault struct {
	name string
	file string
	from string // occurs once in the file
	to   string
}

// faults are mistakes that are easily made. Reviews have found some of their kind.
var faults = []fault{
	{"a freed object is cleared while readers have it", "store/grace.go", "since != 0 && since < now; since", "false && since != 0 && since < now; since"},
	{"a read notes no epoch", "store/grace.go", "w.readEpoch.Store(w.s.epoch.Load())", "w.readEpoch.Store(0)"},
	{"an object is published before it is written", "store/object.go", "	copy(w.s.image.Payload(where, len(packed)), packed)\n", ""},
	{"compaction overwrites a newer object", "store/compact.go", "	page, e := s.namer(where, h)\n	if e == 0 || !s.owns(page, e) {\n", "	e := image.ObjectEntry(where, h.Codec, int(h.Length))\n	if !s.owns(page, e) {\n"},
	{"compaction takes no lock of the page", "store/compact.go", "	defer l.Unlock()\n	page, e := s.namer(where, h)\n", "	l.Unlock()\n	page, e := s.namer(where, h)\n"},
	{"recompression replaces a page that was written meanwhile", "store/recompress.go", "if !s.holds(page, e, id, old) {", "if !e.Object() || !e.Valid(s.image.Segments) {"},
	{"the old entry is freed twice", "store/cluster.go", "	w.deferFree(e)\n}\n\n// adoptClusters", "	w.deferFree(e)\n	if page%64 == 7 {\n		w.deferFree(e)\n	}\n}\n\n// adoptClusters"},
	{"a discard does not count", "store/write.go", "	w.count.add(old, -1)\n", "	if e != 0 {\n		w.count.add(old, -1)\n	}\n"},
	{"a same-filled slot is taken while pages name it", "store/same.go", "if t.refs[slot] == 0 {", "if t.refs[slot] <= 1 {"},
	{"a reference to a same-filled slot is not dropped", "store/same.go", "	if t.refs[e.Value()]--; t.refs[e.Value()] == 0 {", "	if e.Value()%4 == 1 {\n		return\n	}\n	if t.refs[e.Value()]--; t.refs[e.Value()] == 0 {"},
	{"a segment is handed out twice", "store/segment.go", "		s.ready = s.ready[:last]\n", "		if n%8 != 5 {\n			s.ready = s.ready[:last]\n		}\n"},
	{"a segment without memory is forgotten", "store/segment.go", "		s.void = append(s.void, n)\n		s.mu.Unlock()\n		return err\n", "		s.mu.Unlock()\n		return err\n"},
	{"a charge is kept after a failure", "store/segment.go", "	if err := s.firmly(s.takeSegment); err != nil {\n		s.charged.Add(-image.SegmentSize)\n", "	if err := s.firmly(s.takeSegment); err != nil {\n"},
	{"a segment that is given up for the index stays charged", "store/segment.go", "s.charged.Add(keep - image.SegmentSize)", "s.charged.Add(-image.SegmentSize)"},
	{"the index forgets what a failure took", "store/index.go", "	x.s.charged.Add(-absent)\n", ""},
	{"an index page is used before it is noted", "store/index.go", "			x.note(n)\n			x.present.Add(1)\n", "			x.present.Add(1)\n"},
	{"a cleared segment is not clear", "store/segment.go", "	clear(s.image.SegmentBytes(uint64(n)))\n", ""},
	{"the sweep after a death leaves what was begun", "store/sweep.go", "	clear(s.image.SegmentBytes(n)[end-n*image.SegmentSize:])\n", "	_ = end\n"},
	{"a wake-up during a pass is lost", "store/maintain.go", "		s.sleeping.Store(true) // before the pass: what happens during it may be too late for it\n		again := s.pass(turn)\n", "		again := s.pass(turn)\n		s.sleeping.Store(true)\n"},
	{"waiting writes are not counted", "store/wait.go", "		if hopeless {\n			w.failed++\n		}\n", "		w.failed++\n"},
	{"the last block of a batch is not written", "store/writeback.go", "write(w.b.sealed[:n*PageSize], first)", "write(w.b.sealed[:max(n-1, 1)*PageSize], first)"},
	{"a block is freed although its page was written back", "store/writeback.go", "			w.did.Pages++\n		} else {", "			w.did.Pages++\n			if it.page%16 == 3 {\n				s.writtenBack.blocks.release(uint64(it.stub.Block))\n			}\n		} else {"},
	{"written back is what was there before", "store/writeback.go", "	if !s.holds(it.page, e, it.stub.Codec, old) {", "	if !e.Object() || !e.Valid(s.image.Segments) {"},
	{"a request is dropped when the server stops", "fusefs/thread_linux.go", "		case errno == 0 && n >= inHeaderSize:\n", "		case errno == 0 && n >= inHeaderSize && t.c.stopping.Load():\n		case errno == 0 && n >= inHeaderSize:\n"},
	{"a waiting thread keeps its turn", "fusefs/thread_linux.go", "	t.giveTurn()\n}\n\n// note", "	t.turn = false\n}\n\n// note"},
	{"the result is noted after the mark", "fusefs/sealed.go", "	s.words[wordResult].Store(uint64(result))\n", "	s.words[wordApplied].Store(unique)\n	s.words[wordResult].Store(uint64(result))\n"},
	{"a found request is not finished", "fusefs/recover_linux.go", "		case !t.long():\n", "		case !t.long() && t.slot.unique.Load()%8 == 0:\n"},
	{"a punch leaves the part behind its pages", "fusefs/span.go", "		tail:  part{page: last, n: int(end - last*pageSize)},\n", ""},
	{"a worker that cannot be started has no successor", "internal/daemon/supervision.go", "	case s.successor:\n		s.successor = nil\n", "	case s.successor:\n		if begun {\n			s.successor = nil\n		}\n"},
	{"two workers serve during an upgrade", "internal/daemon/supervision.go", "	case next != nil && next.phase == prepared && s.owner == nil:\n", "	case next != nil && next.phase == prepared && (s.owner == nil || s.owner.phase == ready):\n"},
	{"a refused upgrade leaves no program", "internal/daemon/supervision.go", "			s.program, s.before = s.before, program{}\n", ""},
	{"a cluster is freed while pages share it", "store/cluster.go", "		if w.s.shared(page, e) {\n", "		if w.s.shared(page, e) && page%64 != 7 {\n"},
	{"compaction moves a cluster for some of its pages", "store/compact.go", "	for other := range s.sharing(page, e) {\n", "	for other := range s.sharing(page, e) {\n		if other%8 == 5 {\n			continue\n		}\n"},
	{"a page joins a cluster that was made of what it held before", "store/cluster_make.go", "members>>i&1 != 0 && s.holds(first+i, s.idx.load(first+i), it.id, it.object[:it.length])", "members>>i&1 != 0 && s.idx.load(first+i).Object() && it.length > 0"},
	{"a setting that was answered is made again", "fusefs/thread_linux.go", "	if op == opWrite { // to an", "	if op == opWrite && n < 0 { // to an"},
	{"a server that is to stop goes on", "fusefs/server_linux.go", "	s.stopping.Store(true)\n", ""},
}

// plant returns the source of a file with a fault, if that is its file.
func plant(f *fault, root, path string, source []byte) ([]byte, error) {
	if f == nil || path != filepath.Join(root, f.file) {
		return source, nil
	}
	if n := bytes.Count(source, []byte(f.from)); n != 1 {
		return nil, fmt.Errorf("fault %q: its place occurs %d times in %s", f.name, n, f.file)
	}
	return bytes.Replace(source, []byte(f.from), []byte(f.to), 1), nil
}

// check reports faults whose place in the sources has changed.
func check(root string) error {
	for i := range faults {
		path := filepath.Join(root, faults[i].file)
		source, err := os.ReadFile(path)
		if err == nil {
			_, err = plant(&faults[i], root, path, source)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
