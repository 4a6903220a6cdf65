// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/store/view"
)

// Another process tells pages on the backing device from those in memory and from damaged ones, and
// the image has neither the key nor the pages.
func TestViewOfWrittenBackPages(t *testing.T) {
	b := newBacking(t, 2000)
	s := newBackedStore(t, 1000, Config{Backing: b})
	mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{First: 100, End: 600}}})
	where := s.idx.load(300).Where()
	s.image.Payload(where, 1)[0] ^= 1
	v, copied := stillView(t, s)
	s.image.Payload(where, 1)[0] ^= 1
	if bytes.Contains(copied, b.secret.mem[:secretKey]) {
		t.Error("the image holds the key")
	}
	if plain := testContent(102, 1).bytes(); bytes.Contains(copied, plain[64:128]) {
		t.Error("the image holds a page that was written back")
	}
	want := func(page uint64) view.PageKind {
		switch {
		case page == 300:
			return view.PageCorrupt
		case page >= 1000:
			return view.PageEmpty
		case page >= 100 && page < 600:
			return view.PageWrittenBack
		}
		return view.PageObject
	}
	compare := func(w *view.Window) {
		for i, kind := range w.Kind {
			if page := w.Number(i); kind != want(page) {
				t.Errorf("page %d is of kind %d, want %d", page, kind, want(page))
			}
		}
	}
	w := newWindow(512)
	for first := uint64(0); first < v.Pages(); first += 512 {
		if err := v.Look(w, first, v.Pages()); err != nil {
			t.Fatal(err)
		}
		fetchTogether(v, w)
		compare(w)
	}
	survey := v.Survey(0, v.Pages())
	for {
		if err := survey.Next(w); err != nil {
			t.Fatal(err)
		}
		if w.Pages == 0 {
			break
		}
		fetchTogether(v, w)
		compare(w)
	}
}
