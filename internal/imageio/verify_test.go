// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/view"
)

func TestVerifyReport(t *testing.T) {
	w := &imageWindow{Window: view.NewWindow(make([]byte, view.ArenaSize(200)), 200), objects: 3000}
	w.First = 1000
	for i := range 100 {
		w.Kind[i] = view.PageCorrupt
	}
	w.Kind[100], w.Kind[101], w.Kind[102] = view.PageSame, view.PageObject, view.PageObject
	r := VerifyReport{Dir: "/x", WrongPages: []uint64{}}
	if n := r.add(w); n != 103 {
		t.Errorf("%d pages are stored", n)
	}
	r.rate(2 * time.Second)
	if r.Pages != 103 || r.Same != 1 || r.Objects != 2 || r.Wrong != 100 || len(r.WrongPages) != maxListed || r.WrongPages[1] != 1001 || r.PagesPerSecond != 1 {
		t.Errorf("%+v", r)
	}
}

// Wrong pages are found in any order; those with the lowest numbers are listed.
func TestVerifyListsTheFirst(t *testing.T) {
	r := VerifyReport{WrongPages: []uint64{}}
	var want []uint64
	for _, i := range rand.New(rand.NewPCG(6, 6)).Perm(300) {
		r.list(uint64(i * 3))
	}
	for i := range maxListed {
		want = append(want, uint64(i*3))
	}
	if !slices.Equal(r.WrongPages, want) {
		t.Errorf("%d", r.WrongPages)
	}
}

func TestFillPage(t *testing.T) {
	page := make([]byte, pageSize)
	fillPage(page, 0x0807060504030201)
	for i, b := range page {
		if int(b) != i%8+1 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
}
