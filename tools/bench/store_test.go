// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseStore(t *testing.T) {
	opts, err := parse(strings.Fields("store -binary /bin/zramfs -size 64M -idle 3s -churn 2 -plot a.svg"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if opts.mode != modeStore || opts.size != 64<<20 || opts.idle != 3*time.Second || opts.churn != 2 || opts.plot != "a.svg" || opts.rounds != 1 || opts.anchor != zramName {
		t.Errorf("options are %+v", opts)
	}
	for _, text := range []string{"store", "store -binary /bin/zramfs -churn 0", "store -binary /bin/zramfs -rounds 2", "store -device /dev/loop7"} {
		if _, err := parse(strings.Fields(text), io.Discard); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// storePoints are those of a device that takes these numbers of bytes for 100 pages.
func storePoints(memory ...uint64) (all []storePoint) {
	for i, m := range memory {
		all = append(all, storePoint{At: float64(i), Stored: 100 * 4096, Compressed: m / 2, Used: m / 2, Memory: m})
	}
	return all
}

func TestStoreReport(t *testing.T) {
	figures := []storeFigure{{Name: "zramfs", What: "it", Points: storePoints(10_000, 59_000, 49_000, 51_000)}, {Name: "zram", What: "the kernel's", Points: storePoints(0, 100_000, 100_000, 100_000)}}
	for i := range figures {
		f := &figures[i]
		for n, name := range []string{phaseFill, phaseIdle, phaseFree} {
			f.Phases = append(f.Phases, storePhase{name, f.Points[n+1]})
		}
	}
	var text strings.Builder
	if err := (&storeBenchmark{figures: figures, zstd: 700}).writeText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.59                 <= 0.6 reached", "0.49                 <= 0.5 reached", "<= 1.25 reached of compressed", "590", "1000", "700 B", "0.70 of it"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
	picture := plotStore(figures)
	d := xml.NewDecoder(strings.NewReader(picture))
	paths := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, picture)
		}
		if e, ok := token.(xml.StartElement); ok && slices.Contains(e.Attr, xml.Attr{Name: xml.Name{Local: "stroke-width"}, Value: "2"}) {
			paths++
		}
	}
	if paths != len(figures) {
		t.Errorf("%d lines, want %d", paths, len(figures))
	}
	if want := "M70.0"; !strings.Contains(picture, want) {
		t.Errorf("no line begins at the left: %s", picture)
	}
}
