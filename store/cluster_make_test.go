// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

// A miscompressor makes a right object of wrong pages, as a fault in a codec would.
type miscompressor struct {
	codec.ClusterCompressor
	clusters int // that it has made
}

func (m *miscompressor) CompressCluster(dst []byte, pages [codec.ClusterPages][]byte) (codec.ID, int, error) {
	m.clusters++
	for i, page := range pages {
		if page != nil {
			wrong := append([]byte(nil), page...)
			wrong[m.clusters*97%PageSize] ^= 1
			pages[i] = wrong
			break
		}
	}
	return m.ClusterCompressor.CompressCluster(dst, pages)
}

// No page loses its object to a cluster from which it would come back as another.
func TestClusterIsProved(t *testing.T) {
	s := mustCreate(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "page:dense")})
	defer finish(t, s)
	data := texts(int(s.Pages()))
	for page, p := range data {
		write(t, s, uint64(page), p)
	}
	c := clusterer(t, s)
	if err := c.prepare(); err != nil {
		t.Fatal(err)
	}
	wrong := &miscompressor{ClusterCompressor: c.compressor}
	c.compressor = wrong
	did, err := c.Run(context.Background(), 0)
	if pages, _ := inClusters(s); !errors.Is(err, ErrCorrupt) || did.Pages != 0 || pages != 0 || wrong.clusters != 1 || did.Incompressible == 0 {
		t.Errorf("%v: %+v after %d clusters, %d pages are in clusters", err, did, wrong.clusters, pages)
	}
	unchanged(t, s, data)
	alone := did.Incompressible
	c.compressor = wrong.ClusterCompressor
	if did, err := c.Run(context.Background(), 0); err != nil || did.Pages == 0 {
		t.Errorf("the others are not joined: %+v, %v", did, err)
	}
	for page := range alone {
		if s.idx.load(page).Clustered() {
			t.Errorf("page %d is tried again before it is written", page)
		}
	}
	unchanged(t, s, data)
}
