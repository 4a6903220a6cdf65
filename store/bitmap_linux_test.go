// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Of a large device, what does not exist is passed by.
func TestViewNext(t *testing.T) {
	s := newStore(t, Config{Disksize: 128 << 30})
	far := s.Pages() * 2 / 3
	write(t, s, far, content{1, 1, random}.bytes())
	s.quiesce() // the maintainer takes index pages ahead
	defer s.resume()
	v := openView(t, s.memory)
	var found []uint64
	for page, err := v.Next(0); page < v.Pages(); page, err = v.Next(page + image.EntriesPerPage) {
		if err != nil {
			t.Fatal(err)
		}
		if s.idx.load(page) == 0 {
			page = page &^ (image.EntriesPerPage - 1)
		}
		if !s.idx.has(page / image.EntriesPerPage) {
			t.Fatalf("index page of %d does not exist", page)
		}
		found = append(found, page/image.EntriesPerPage)
	}
	if n := s.idx.present.Load(); int64(len(found)) != n || n < 2 {
		t.Errorf("%d index pages found, %d are there", len(found), n)
	}
	if page, err := v.Next(far); err != nil || page != far {
		t.Errorf("from page %d on the next is %d (%v)", far, page, err)
	}
	if page, err := v.Next(v.Pages()); err != nil || page != v.Pages() {
		t.Errorf("at the end the next is %d (%v)", page, err)
	}
}

// Whatever the bitmap says, a discard frees, a View finds and another worker adopts all that was
// written: the whole index exists up to populateUpTo, and beyond that the bitmap has a twin.
func TestDamagedBitmap(t *testing.T) {
	for name, damage := range map[string]func(word uint64) uint64{
		"a bit cleared": func(word uint64) uint64 { return word &^ 1 },
		"all cleared":   func(uint64) uint64 { return 0 },
		"all set":       func(uint64) uint64 { return ^uint64(0) },
	} {
		for _, disksize := range []uint64{populateUpTo, populateUpTo + 1<<30} {
			t.Run(fmt.Sprintf("%s, %d GiB", name, disksize>>30), func(t *testing.T) {
				mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: disksize, MaxMemory: 1 << 28})
				s, err := Create(mem, cfg)
				if err != nil {
					t.Fatal(err)
				}
				const pages = 2 * image.EntriesPerPage
				for page := range uint32(pages) {
					write(t, s, uint64(page), content{page, 1, contentKind(page) % contentKinds}.bytes())
				}
				spoil := func() {
					s.idx.bitmap[0].Store(damage(s.idx.bitmap[0].Load()))
					found := 0
					for page, w := uint64(0), newWindow(pages); page < pages; page += uint64(w.Pages) {
						if page, err = openView(t, mem).Next(page); err != nil || page >= pages {
							break
						}
						if err := openView(t, mem).Look(w, page, pages); err != nil {
							t.Fatal(err)
						}
						found += w.Pages
					}
					if found != pages {
						t.Errorf("a view finds %d pages of %d (%v)", found, pages, err)
					}
					mustHold(t, s, pages)
				}
				spoil()
				s.die()
				if s, err = Open(mem, cfg); err != nil {
					t.Fatal(err)
				}
				defer s.die() // Check would complain of the bitmap
				spoil()
				w := s.Acquire()
				w.Discard(0, s.Pages())
				w.Release()
				if st := s.Stats(); st.OrigDataSize != 0 || !bytes.Equal(read(t, s, 9), make([]byte, PageSize)) {
					t.Errorf("%d bytes are stored after everything was discarded", st.OrigDataSize)
				}
			})
		}
	}
}

// mustHold reads what the test has written to the first pages.
func mustHold(t *testing.T, s *Store, pages uint32) {
	t.Helper()
	for page := range pages {
		if !bytes.Equal(read(t, s, uint64(page)), content{page, 1, contentKind(page) % contentKinds}.bytes()) {
			t.Fatalf("page %d is wrong", page)
		}
	}
}

// Walks over the index read no page of it that does not exist, since that would fill it. Check
// compares the memory that the image takes with what is counted.
func TestWalksTakeNoIndexPages(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 30, Backing: newBacking(t, 100)})
	for _, page := range []uint64{5, s.Pages() / 2, s.Pages() - 1} {
		write(t, s, page, testContent(page, 1).bytes())
	}
	if did, err := s.Recompress(t.Context(), RecompressConfig{Algorithm: algorithm(t, "page:dense")}); err != nil || did.Tried == 0 {
		t.Errorf("%+v, %v", did, err)
	}
	if did, damaged := scrub(t, s); did.Pages != 3 || len(damaged) > 0 {
		t.Errorf("%+v, damaged are %v", did, damaged)
	}
	if did := mustWriteBack(t, s, WritebackConfig{Pages: everything.Pages, Coldest: 2}); did.Pages == 0 {
		t.Errorf("%+v", did)
	}
	if n := s.MarkIdle(0); n > 3 {
		t.Errorf("%d pages are idle", n)
	}
}
