// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

// raisedZones are those of a machine with 256 MiB that stood still, as Linux 7.3 showed them: more
// is free than the lowest watermark, but not than that with what the kernel has added.
const raisedZones = `Node 0, zone      DMA
  pages free     224
        boost    0
        min      35
        protection: (0, 191, 191, 191, 191)
Node 0, zone    DMA32
  pages free     903
        boost    895
        min      1294
        protection: (0, 0, 0, 0, 0)
`

// Raised watermarks are lowered where memory is below them, by writing the value that is there, and
// left alone elsewhere.
func TestLowerWatermarks(t *testing.T) {
	for _, c := range []struct {
		name, zones string
		want        bool
	}{
		{"raised", raisedZones, true},
		{"raised and enough free", strings.Replace(raisedZones, "free     903", "free     1500", 1), false},
		{"not raised", strings.Replace(raisedZones, "boost    895", "boost    0", 1), false},
		{"the kernel does not say", strings.ReplaceAll(strings.ReplaceAll(raisedZones, "boost    895", ""), "boost    0", ""), true},
		{"short", someZones, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := host.Root(t.TempDir())
			for path, text := range map[string]string{"proc/zoneinfo": c.zones, scaleFactor: "125\n"} {
				if err := os.MkdirAll(root.Path(path, ".."), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(root.Path(path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			z, err := openZones(root)
			if err != nil {
				t.Fatal(err)
			}
			defer z.close()
			before := time.Unix(1, 0)
			if err := os.Chtimes(root.Path(scaleFactor), before, before); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got := z.lower(); got != c.want {
					t.Errorf("lowered: %v", got)
				}
			}
			info, err := os.Stat(root.Path(scaleFactor))
			if err != nil {
				t.Fatal(err)
			}
			if text := content(t, root, scaleFactor); text != "125\n" || info.ModTime().Equal(before) == c.want {
				t.Errorf("the parameter is %q, of %s", text, info.ModTime())
			}
			if n := testing.AllocsPerRun(10, func() { z.lower() }); n != 0 && !c.want {
				t.Errorf("a look makes %v allocations", n)
			}
		})
	}
}

// It ends with its order to stop.
func TestLowerWatermarksStops(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	LowerWatermarks(stop)
}
