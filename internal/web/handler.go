// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/chronicle"
	"github.com/zramfs/zramfs/internal/monitor"
)

//go:embed static
var static embed.FS

const (
	// maxReaders is the number of pages that may be open. One more ends the oldest.
	maxReaders = 64
	// reconnect is when a page whose connection broke tries again, in milliseconds.
	reconnect = 2000
)

// handler answers requests from a sampler's looks.
type handler struct{ sampler *Sampler }

func newHandler(s *Sampler, opt options) http.Handler {
	h := handler{s}
	mux := http.NewServeMux()
	files, err := fs.Sub(static, "static")
	if err == nil {
		mux.Handle("/", http.FileServerFS(files))
	}
	mux.HandleFunc("/metrics", h.metrics)
	mux.HandleFunc("/healthz", h.health)
	mux.HandleFunc("/api/history", h.history)
	mux.HandleFunc("/api/now", h.now)
	mux.HandleFunc("/api/events", h.events)
	return guard(opt, mux)
}

// metrics answers with the exposition.
func (h handler) metrics(w http.ResponseWriter, _ *http.Request) {
	l := h.sampler.look(fresh)
	if l.err != nil {
		http.Error(w, l.err.Error(), http.StatusServiceUnavailable)
		return
	}
	text, err := monitor.Text(monitor.Of(l.figures, h.sampler.build))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, monitor.ContentType, text)
}

// health answers 200 where zramfs status would end with 0.
func (h handler) health(w http.ResponseWriter, _ *http.Request) {
	l := h.sampler.look(fresh)
	var problems []string
	switch {
	case l.err != nil:
		problems = append(problems, l.err.Error())
	case len(l.views) == 0:
		problems = append(problems, "no zramfs device")
	}
	for _, v := range l.views {
		for _, p := range v.Problems {
			problems = append(problems, v.Name+": "+p.String())
		}
	}
	if len(problems) > 0 {
		http.Error(w, strings.Join(problems, "\n"), http.StatusServiceUnavailable)
		return
	}
	answer(w, "text/plain; charset=utf-8", []byte("healthy\n"))
}

// now answers with one message of events.
func (h handler) now(w http.ResponseWriter, _ *http.Request) {
	answer(w, "application/json", h.sampler.look(fresh).text)
}

// columns is a device's history, a column for each field.
type columns struct {
	Times  []int64      `json:"times"`
	Names  []string     `json:"names"`
	Values [][]*float64 `json:"values"`
}

// history answers with the history of ?device=.
func (h handler) history(w http.ResponseWriter, r *http.Request) {
	text, err := json.Marshal(columnsOf(h.sampler.chronicle, r.URL.Query().Get("device")))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, "application/json", text)
}

// columnsOf turns rows into columns.
func columnsOf(c *chronicle.Chronicle, device string) columns {
	rows := c.Rows(device, time.Now())
	all := columns{Times: make([]int64, len(rows)), Names: chronicle.Names(), Values: make([][]*float64, chronicle.Fields)}
	for f := range all.Values {
		all.Values[f] = make([]*float64, len(rows))
	}
	for i, r := range rows {
		all.Times[i] = r.Time.Unix()
		for f, v := range valuesOf(r) {
			all.Values[f][i] = v
		}
	}
	return all
}

// events sends each look as a server-sent event until the page is closed.
func (h handler) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return // the answer has no body to wait for
	}
	looks := h.sampler.subscribe()
	defer h.sampler.unsubscribe(looks)
	control := http.NewResponseController(w)
	text := fmt.Appendf(nil, "retry: %d\n\n", reconnect)
	for {
		if err := control.SetWriteDeadline(time.Now().Add(answerTime)); err != nil {
			return
		}
		if _, err := w.Write(text); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case l, open := <-looks:
			if !open {
				return
			}
			text = bytes.Join([][]byte{[]byte("data: "), l, []byte("\n\n")}, nil)
		}
	}
}

// answer sends a whole answer. A client that is gone gets none.
func answer(w http.ResponseWriter, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text)
}
