// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/snapshot"
	"github.com/zramfs/zramfs/internal/term"
)

// An InspectReport says what a snapshot holds; its JSON is what snapshot inspect --json prints.
// Where it is damaged the counts are of what lies before the damage.
type InspectReport struct {
	File            string `json:"file"`             // the file
	FileBytes       int64  `json:"file_bytes"`       // size of the file
	Version         int    `json:"version"`          // of the format
	Disksize        uint64 `json:"disksize"`         // of the device, bytes
	Algorithm       string `json:"algorithm"`        // of the device
	DictionaryBytes int    `json:"dictionary_bytes"` // size of the dictionary of that device in the file; 0 for none
	// Pages counts the pages with data, Same those of them that a word fills.
	Pages uint64 `json:"pages"`
	Same  uint64 `json:"same_pages"`
	// ObjectBytes is the size of the objects of all other pages, and Codecs divides it.
	ObjectBytes uint64          `json:"object_bytes"`
	Codecs      []SnapshotCodec `json:"codecs"`
	// Ratio is the size of the pages with objects to that of the objects; 0 without objects.
	Ratio     float64               `json:"ratio"`
	OneMoment bool                  `json:"one_moment"` // whether nothing wrote to the device while it was saved
	SHA256    string                `json:"sha256"`     // empty where the snapshot is damaged
	Damage    *snapshot.DamageError `json:"damage"`     // nil where all checksums hold and all objects can be read
}

// A SnapshotCodec is the part of one format in a snapshot.
type SnapshotCodec struct {
	Name  string `json:"name"`  // of the format
	Pages uint64 `json:"pages"` // in this format
	Bytes uint64 `json:"bytes"` // of their objects
}

// Inspect reads the snapshot that a file holds. Damage behind its header is part of the report and
// no error.
func Inspect(ctx context.Context, file string, p term.Steps) (r InspectReport, err error) {
	f, err := openSnapshot(file)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	h := f.reader.Header
	r = InspectReport{
		File: file, FileBytes: f.size, Version: snapshot.Version, Disksize: h.Pages * pageSize, Algorithm: h.Algorithm,
		DictionaryBytes: len(h.Dictionary), Codecs: []SnapshotCodec{},
	}
	var codecs [codec.ZstdDict + 1]SnapshotCodec
	err = errors.Join(f.each(ctx, true, p, func(b *snapshot.Block) error {
		for i, id := range b.ID {
			codecs[id].Pages++
			codecs[id].Bytes += uint64(b.Length[i])
		}
		return nil
	}), p.End())
	r.sum(codecs[:])
	if errors.As(err, &r.Damage) {
		return r, nil
	}
	r.OneMoment, r.SHA256 = f.reader.Trailer.OneMoment, hex.EncodeToString(f.reader.Trailer.Digest[:])
	return r, err
}

// sum adds up what was counted by codec.
func (r *InspectReport) sum(codecs []SnapshotCodec) {
	for id, c := range codecs {
		r.Pages += c.Pages
		if id == int(codec.None) {
			r.Same = c.Pages
		} else if c.Name = codec.ID(id).String(); c.Pages > 0 {
			r.ObjectBytes += c.Bytes
			r.Codecs = append(r.Codecs, c)
		}
	}
	if r.ObjectBytes > 0 {
		r.Ratio = float64(r.Pages-r.Same) * pageSize / float64(r.ObjectBytes)
	}
}
