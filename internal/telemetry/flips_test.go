// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

var flipAll = flag.Bool("flips", false, "flip every bit of the counters' memory, not a sample")

// A bit of the counters' memory flips: a figure may be wrong, an entry of a trace or an event be
// missing, or the memory be refused. Readers and writers go on, and none of them takes long.
func TestFlipsOfCounters(t *testing.T) {
	rng := rand.New(rand.NewPCG(require.Seed(t, 1), 17))
	mem := memory(2)
	a, err := Format(mem, 2)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 * maxEvents {
		a.NoteEvent(time.Unix(int64(n), 0), Kind(n)%Kinds, n, "some text")
		for slot := range 2 {
			a.Slot(slot).Note(&Request{Op: Op(n) % Ops, Began: time.Unix(int64(n), 0), Took: time.Duration(n*n) * time.Microsecond,
				Page: uint64(n), Pages: 1 + n%40, Bytes: uint64(1+n%40)*pageSize - uint64(n%3), Stall: time.Duration(n % 2)})
		}
		a.Mark(time.Duration(n) * MarkEvery)
	}
	refused, tried, slowest := 0, 0, time.Duration(0)
	try := func(bit int) {
		tried++
		mem[bit/8] ^= 1 << (bit % 8)
		defer func() { mem[bit/8] ^= 1 << (bit % 8) }()
		b, err := Open(mem)
		if err != nil {
			refused++
			return
		}
		began := time.Now()
		if _, err := json.Marshal(look(b, tried%64 == 0)); err != nil {
			t.Fatalf("byte %#x, bit %d: %v", bit/8, bit%8, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	if *flipAll {
		for bit := range a.traceAt(0) * 8 {
			try(bit)
		}
		for bit := a.marksAt() * 8; bit < len(mem)*8; bit++ {
			try(bit)
		}
	}
	sample := 2000
	if testing.Short() {
		sample = 50
	}
	for range sample {
		try(rng.IntN(len(mem) * 8))
		try(rng.IntN(a.traceAt(0) * 8))
	}
	if refused == 0 && *flipAll {
		t.Error("no flip was refused")
	}
	t.Logf("%d bits flipped, %d refused, %v for the slowest look", tried, refused, slowest)
}

// look reads all there is, and writes on.
func look(a *Area, traces bool) any {
	var all struct {
		Operations [Ops]Operation
		Stalls     uint64
		Events     []Event
		Total      map[string]uint64
		Recent     Recent
		Quantiles  []time.Duration
		Traces     []Trace
	}
	now := 4 * maxEvents * MarkEvery
	all.Operations = a.Operations()
	all.Stalls, _ = a.Stalls()
	all.Events, _ = a.Events(0)
	all.Total, all.Recent = a.EventsTotal(), a.Recent(now)
	for _, o := range all.Operations {
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			all.Quantiles = append(all.Quantiles, o.Latency.Quantile(q), all.Recent.In.Latency.Quantile(q))
		}
	}
	if traces {
		all.Traces, _ = a.Traces(&Cursor{})
	}
	a.Mark(now)
	a.NoteEvent(time.Unix(1, 0), Started, 1, "another")
	a.Slot(0).Note(&Request{Op: Read, Took: time.Millisecond, Pages: 1, Bytes: pageSize})
	return &all
}
