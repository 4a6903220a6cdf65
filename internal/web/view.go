// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"math"
	"strings"

	"github.com/zramfs/zramfs/internal/chronicle"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// A view is a device as the page shows it. Sizes are in bytes.
type view struct {
	Name       string            `json:"name"` // unique
	Loop       string            `json:"loop"`
	Answer     string            `json:"answer"`
	Answered   bool              `json:"answered"` // the figures are its own, wherever it is mounted
	Problems   []swapdev.Problem `json:"problems"`
	Algorithm  string            `json:"algorithm"`
	Version    string            `json:"version"`
	Uptime     float64           `json:"uptime"`
	Disksize   uint64            `json:"disksize"`
	Swap       *swapView         `json:"swap"` // null where it is no swap
	Stored     uint64            `json:"stored"`
	Compressed uint64            `json:"compressed"`
	Memory     uint64            `json:"memory"`
	Peak       uint64            `json:"peak"`
	Limit      uint64            `json:"limit"`
	Saved      int64             `json:"saved"`
	Taken      swapdev.Memory    `json:"taken"`
	Zswap      string            `json:"zswap"` // in words
	Parts      monitor.Parts     `json:"parts"`
	Codecs     []status.Codec    `json:"codecs"`
	Operations []operation       `json:"operations"`
	Errors     status.IO         `json:"errors"`
	Restarts   int               `json:"restarts"`
	Missing    []string          `json:"missing"` // protections that do not hold
	FullIn     *float64          `json:"full_in"` // seconds
	Growth     float64           `json:"growth"`  // bytes a second
	Values     []*float64        `json:"values"`  // by chronicle.Names; null is unknown

	row chronicle.Row
}

// swapView is the swap areas of a device.
type swapView struct {
	Size     uint64         `json:"size"`
	Used     uint64         `json:"used"`
	Priority int            `json:"priority"`
	Usage    *swapdev.Usage `json:"usage"`
}

// An operation is a kind of request; times are in nanoseconds.
type operation struct {
	Op       string `json:"op"`
	Requests uint64 `json:"requests"`
	Pages    uint64 `json:"pages"`
	Errors   uint64 `json:"errors"`
	P50      uint64 `json:"p50"`
	P99      uint64 `json:"p99"`
	P999     uint64 `json:"p999"`
	Max      uint64 `json:"max"`
}

// namesOf returns a name for each sample, that of its device. Of several devices on one DIR, as in
// two mount namespaces or where one is dead, those after the first have a number as well. A name is
// UTF-8, which a DIR need not be: JSON would make it another one, which is in no history.
func namesOf(samples []monitor.Sample) []string {
	names, count := make([]string, len(samples)), map[string]int{}
	for i, s := range samples {
		names[i] = strings.ToValidUTF8(s.Device.Title(), "\uFFFD")
		if count[names[i]]++; count[names[i]] > 1 {
			names[i] = fmt.Sprintf("%s (%d)", names[i], count[names[i]])
		}
	}
	return names
}

// newView describes a sample.
func newView(name string, s monitor.Sample, p monitor.Point) view {
	d := s.Device
	v := view{Name: name, Loop: d.Name(), Answer: p.Answer, Answered: p.Answered(), Problems: s.Problems, FullIn: p.FullIn, Growth: p.Growth,
		Codecs: append([]status.Codec{}, p.Codecs...), Operations: []operation{}, Missing: []string{}}
	if swap := d.Swap(); swap != nil {
		v.Swap = &swapView{Size: swap.Size, Used: d.Used(), Priority: swap.Priority, Usage: swapdev.NewUsage(d)}
	}
	if d.Status != nil {
		v.take(d)
	}
	v.row = newRow(v, p)
	v.Values = valuesOf(v.row)
	return v
}

// take adds what the status has.
func (v *view) take(d swapdev.Device) {
	st := d.Status
	m := st.Memory
	v.Algorithm, v.Version, v.Uptime, v.Disksize = st.Algorithm, st.Version, st.UptimeSeconds, st.Disksize
	v.Stored, v.Compressed, v.Memory, v.Peak, v.Limit = m.OrigDataSize, m.ComprDataSize, m.MemUsedTotal, m.MemUsedMax, st.MemLimit
	v.Taken, v.Saved, v.Parts, v.Errors, v.Restarts = d.Memory(), monitor.SavedBy(d), monitor.PartsOf(d), st.IO, st.Restarts
	v.Zswap = d.ZswapWords()
	for _, o := range st.Operations {
		v.Operations = append(v.Operations, operation{o.Op, o.Requests, o.Pages, o.Errors, o.P50, o.P99, o.P999, o.Max})
	}
	for _, p := range st.Protections {
		if p.State != "ok" {
			v.Missing = append(v.Missing, p.Name)
		}
	}
}

// newRow is what the history keeps of a view: store and zswap together.
func newRow(v view, p monitor.Point) chronicle.Row {
	r := chronicle.NewRow(p.Time)
	r.Set(chronicle.Problems, float64(len(v.Problems)))
	if v.Swap != nil {
		r.Set(chronicle.SwapUsed, float64(v.Swap.Used))
		r.Set(chronicle.SwapSize, float64(v.Swap.Size))
	}
	if p.PressureSome != nil {
		r.Set(chronicle.Pressure, *p.PressureSome)
	}
	if !p.Answered() {
		return r
	}
	r.Set(chronicle.Stored, float64(v.Stored+p.InZswap))
	r.Set(chronicle.Compressed, float64(v.Compressed+p.Zswap))
	r.Set(chronicle.Memory, float64(v.Memory+p.Zswap))
	r.Set(chronicle.Processes, float64(v.Parts.Process+v.Parts.Slots))
	r.Set(chronicle.Saved, float64(v.Saved))
	if p.Seconds > 0 {
		r.Set(chronicle.PagesIn, p.In.Pages)
		r.Set(chronicle.PagesOut, p.Out.Pages)
		setTimes(&r, chronicle.ReadP50, chronicle.ReadP99, p.In)
		setTimes(&r, chronicle.WriteP50, chronicle.WriteP99, p.Out)
	}
	if p.CPU != nil {
		r.Set(chronicle.CPU, *p.CPU)
	}
	return r
}

// valuesOf returns the values of a row for JSON, which has no NaN.
func valuesOf(r chronicle.Row) []*float64 {
	all := make([]*float64, len(r.Values))
	for i, f := range r.Values {
		if v := float64(f); !math.IsNaN(v) && !math.IsInf(v, 0) {
			all[i] = &v
		}
	}
	return all
}

// setTimes sets the times of a direction, in seconds; without a request they are unknown.
func setTimes(r *chronicle.Row, p50, p99 chronicle.Field, f status.Flow) {
	if f.P99 > 0 {
		r.Set(p50, float64(f.P50)/1e9)
		r.Set(p99, float64(f.P99)/1e9)
	}
}
