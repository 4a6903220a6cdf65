// SPDX-License-Identifier: Apache-2.0

package view

import (
	"sync"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// A clusterReader copies a cluster and unpacks pages of it.
type clusterReader struct {
	d      *codec.ClusterDecompressor
	object [image.HeaderSize + image.MaxPayload]byte
}

// clusterReaders are those that no goroutine uses, of all Views: only a process that reads clusters
// pays for them.
var clusterReaders sync.Pool

// newClusterReader returns a reader, or nil where there can be none.
func newClusterReader() *clusterReader {
	if r, ok := clusterReaders.Get().(*clusterReader); ok {
		return r
	}
	d, err := codec.Algorithm{}.NewClusterDecompressor()
	if err != nil {
		return nil
	}
	return &clusterReader{d: d}
}

// given is the codec and the length of what a Window has of the object of an entry.
func given(e image.Entry) (id codec.ID, length uint32) {
	if e.Clustered() {
		return codec.Raw, image.PageSize
	}
	return e.Codec(), uint32(e.Length())
}

// member fills p with a page of the cluster that the page's entry refers to, and reports whether
// that is intact.
func (v *View) member(p []byte, page uint64, e image.Entry) bool {
	r := newClusterReader()
	if r == nil {
		return false
	}
	defer clusterReaders.Put(r)
	object := r.object[:image.HeaderSize+e.Length()]
	if v.read(object, v.geometry.ObjectAt(e.Where())) != nil || !image.Proves(object, page, e) {
		return false
	}
	return r.d.DecompressCluster(p, e.Codec(), int(page%image.ClusterPages), object[image.HeaderSize:]) == nil
}
