// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"bufio"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
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
	if got, err := readZones(bufio.NewReader(strings.NewReader(someZones))); got.given != 29+92 || got.raised || err != nil {
		t.Errorf("%+v, %v, want 121 pages and no raised watermark", got, err)
	}
	z, err := openZones(host.Local)
	if err != nil {
		t.Fatal(err)
	}
	defer z.close()
	if got, err := z.look(); got.given == 0 || err != nil {
		t.Errorf("this machine has %+v, %v", got, err)
	}
	if z.has(1 << 50) {
		t.Error("it gives more than any machine has")
	}
	if n := testing.AllocsPerRun(10, func() { z.has(1 << 50) }); n != 0 {
		t.Errorf("a look makes %v allocations", n)
	}
}
