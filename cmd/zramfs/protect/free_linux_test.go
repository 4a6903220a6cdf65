// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// Zones of a machine with 256 MiB, whose memory is short, as Linux 6.1 prints them.
const someZones = `Node 0, zone      DMA
  per-node stats
      nr_inactive_anon 30243
  pages free     234
        boost    0
        min      34
        low      42
        high     50
        protection: (0, 179, 179, 179, 179)
Node 0, zone    DMA32
  pages free     401
        min      411
        low      513
        protection: (0, 0, 0, 0, 0)
      nr_free_pages 401
  pagesets
    cpu: 0
              count: 56
Node 0, zone   Normal
  pages free     0
        min      0
        protection: (0, 0, 0, 0, 0)
`

func TestGivenPages(t *testing.T) {
	// 234 - (34-8) - 179 of the first zone, and 401 - (411-102) of the second.
	if got, err := givenPages(bufio.NewReader(strings.NewReader(someZones))); got != 29+92 || err != nil {
		t.Errorf("%d pages, %v, want 121", got, err)
	}
	zones, err := os.Open("/proc/zoneinfo")
	if err != nil {
		t.Fatal(err)
	}
	defer zones.Close()
	f := freeMemory{zones: zones, lines: bufio.NewReader(zones)}
	if got, err := givenPages(f.lines); got == 0 || err != nil {
		t.Errorf("this machine gives %d pages, %v", got, err)
	}
	if f.has(1 << 50) {
		t.Error("it gives more than any machine has")
	}
	if n := testing.AllocsPerRun(10, func() { f.has(1 << 50) }); n != 0 {
		t.Errorf("a look makes %v allocations", n)
	}
}
