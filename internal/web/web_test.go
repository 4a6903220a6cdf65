// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/chronicle"
	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	devicejournal "github.com/zramfs/zramfs/internal/journal"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/loopsetup"
)

// healthy is a device without problems, and hung one that does not answer.
func healthy() monitor.Sample {
	return monitor.Sample{At: time.Now(), Device: swapdev.Device{Dir: "/run/zram", Status: &status.Status{
		UptimeSeconds: 60, SurvivesCrash: true, Algorithm: "adaptive", Disksize: 64 << 20,
		Memory: status.Memory{OrigDataSize: 40 << 20, ComprDataSize: 8 << 20, MemUsedTotal: 10 << 20}}}, Problems: []swapdev.Problem{}}
}

func hung() monitor.Sample {
	d := swapdev.Device{Dir: "/mnt/hung", Err: helper.ErrNoAnswer}
	return monitor.Sample{At: time.Now(), Device: d, Problems: swapdev.Diagnose(d, time.Now())}
}

// A page has both tiers, and its history has them together.
func TestTiers(t *testing.T) {
	s := healthy()
	s.Device.Swaps = []loopsetup.Swap{{Path: "/dev/loop0", Size: 64 << 20, Used: 60 << 20}}
	s.Device.SwapUse = swapdev.SwapUse{All: 60 << 20, Zswap: host.ZswapUse{Held: 16 << 20, Pool: 4 << 20, Loads: 7, Stores: 5000, WrittenBack: 2}}
	const zswap = 4<<20 + 4096*80
	p := monitor.NewHistory(1).Add([]monitor.Sample{s})[0]
	v := newView("x", s, p)
	if v.Zswap != "4.3M for 16M, ratio 3.71; since boot 7 faults answered, 2 pages written back" || v.Swap.Usage.InZswap != 16<<20 ||
		v.Taken.Taken != 10<<20+zswap || v.Parts.Zswap != zswap || v.Saved != 50<<20-zswap {
		t.Errorf("%+v, %+v", v, v.Swap.Usage)
	}
	if r := v.row.Values; r[chronicle.Stored] != 56<<20 || r[chronicle.Memory] != 10<<20+zswap || r[chronicle.Compressed] != 8<<20+zswap {
		t.Errorf("%v", r)
	}
}

// sampler returns one that finds these samples, and its server.
func sampler(t *testing.T, opt options, found ...monitor.Sample) (*Sampler, *httptest.Server) {
	t.Helper()
	s := NewSampler(chronicle.New(), monitor.Build{Version: "1.0"}, t.Logf)
	s.take = func(...string) ([]monitor.Sample, error) { return found, nil }
	s.read = func(string, time.Duration) ([]devicejournal.Event, error) {
		return nil, errors.New("permission denied")
	}
	server := httptest.NewServer(newHandler(s, opt))
	t.Cleanup(server.Close)
	return s, server
}

// get asks the server, and returns status code, headers and text.
func get(t *testing.T, url string, change func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

func TestHealth(t *testing.T) {
	for _, test := range []struct {
		found []monitor.Sample
		code  int
		text  string
	}{
		{[]monitor.Sample{healthy()}, 200, "healthy\n"},
		{[]monitor.Sample{healthy(), hung()}, 503, "/mnt/hung: "},
		{nil, 503, "no zramfs device"},
	} {
		_, server := sampler(t, options{loopback: true}, test.found...)
		if code, _, text := get(t, server.URL+"/healthz", nil); code != test.code || !strings.HasPrefix(text, test.text) {
			t.Errorf("%d %q, want %d %q", code, text, test.code, test.text)
		}
	}
}

// A page of another site, whose name was made to point here, gets nothing; nor does the own page
// get anything from elsewhere.
func TestOtherSites(t *testing.T) {
	_, server := sampler(t, options{loopback: true}, healthy())
	for host, want := range map[string]int{"": 200, "localhost:9633": 200, "[::1]:9633": 200, "127.0.0.1": 200, "evil.example": 403,
		"evil.example:9633": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403} {
		for _, path := range []string{"/", "/metrics", "/api/now"} {
			code, header, _ := get(t, server.URL+path, func(r *http.Request) {
				if host != "" {
					r.Host = host
				}
			})
			if csp := header.Get("Content-Security-Policy"); code != want || !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "http") {
				t.Errorf("%s of %q: %d, %q", path, host, code, csp)
			}
		}
	}
	answer, err := http.Post(server.URL+"/metrics", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", answer.Status)
	}
}

func TestToken(t *testing.T) {
	const token = "0123456789abcdef"
	_, server := sampler(t, options{token: token}, healthy())
	for _, test := range []struct {
		change func(*http.Request)
		want   int
	}{
		{nil, 401},
		{func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }, 200},
		{func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token[1:]) }, 401},
		{func(r *http.Request) { r.Header.Set("Authorization", "Bearer") }, 401},
		{func(r *http.Request) { r.SetBasicAuth("any", token) }, 200},
		{func(r *http.Request) { r.SetBasicAuth(token, "") }, 401},
	} {
		for _, path := range []string{"/", "/app.js", "/metrics", "/healthz", "/api/now", "/api/history?range=1h", "/nothing"} {
			want := test.want
			if path == "/nothing" && want == 200 {
				want = 404
			}
			if code, _, _ := get(t, server.URL+path, test.change); code != want {
				t.Errorf("%s: %d, want %d", path, code, want)
			}
		}
	}
}

// Options that could give devices' figures to other machines are refused before anything is served.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", "0123456789abcdef\n", 0o600)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Config{
		{Listen: "9633"}, {Listen: "127.0.0.1"}, {Listen: "127.0.0.1:65536"}, {Listen: "127.0.0.1:nothing"}, {Listen: "0.0.0.0:0"}, {Listen: ":0"}, {Listen: "[::]:0"}, {Listen: "192.0.2.1:0"}, {Listen: "example.org:0"},
		{Listen: "0.0.0.0:0", TLSCert: "c", TLSKey: "k"},
		{Listen: "127.0.0.1:0", TLSCert: "c"},
		{Listen: "0.0.0.0:0", TokenFile: filepath.Join(dir, "none")},
		{Listen: "0.0.0.0:0", TokenFile: file("open", "0123456789abcdef", 0o644)},
		{Listen: "0.0.0.0:0", TokenFile: file("short", "0123456789abcde\n", 0o600)},
		{Listen: "0.0.0.0:0", TokenFile: file("long", strings.Repeat("x", maxFile+1), 0o600)},
		{Listen: "0.0.0.0:0", TokenFile: pipe},
	} {
		if _, err := check(o); !errors.Is(err, ErrUsage) || !strings.HasPrefix(err.Error(), "serve: --") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, opt := range []options{{address: "127.0.0.1:0", cert: pipe, key: good}, {address: "127.0.0.1:0", cert: good, key: pipe}} {
		if l, err := listen(t.Context(), opt); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "pipe is no regular file") {
			t.Errorf("%+v: %v, %v", opt, l, err)
		}
	}
	for _, o := range []Config{{Listen: "127.0.0.1:0"}, {Listen: "localhost:0"}, {Listen: "[::1]:0"}, {Listen: "0.0.0.0:0", TokenFile: good}} {
		if _, err := check(o); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// An open page gets a look at once and then one after the other; the history has them.
func TestEventsAndHistory(t *testing.T) {
	s, server := sampler(t, options{loopback: true}, healthy(), hung())
	answer, err := http.Get(server.URL + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for range 2 {
		for deadline := time.Now().Add(5 * time.Second); s.watchers() == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		s.send(s.look(0))
		var text string
		for text == "" && lines.Scan() {
			text, _ = strings.CutPrefix(lines.Text(), "data: ")
			if !strings.HasPrefix(text, "{") {
				text = ""
			}
		}
		var m message
		if err := json.Unmarshal([]byte(text), &m); err != nil || len(m.Devices) != 2 {
			t.Fatalf("%q: %v", text, err)
		}
		if d := m.Devices[0]; d.Stored != 40<<20 || d.Saved != 30<<20 || len(d.Values) != int(chronicle.Fields) || *d.Values[chronicle.Stored] != 40<<20 {
			t.Errorf("%+v", d)
		}
		if d := m.Devices[1]; d.Answer != "timeout" || d.Values[chronicle.Stored] != nil || len(d.Problems) == 0 {
			t.Errorf("%+v", d)
		}
		if strings.Contains(text, `"codecs":null`) || strings.Contains(text, `"problems":null`) {
			t.Errorf("the page wants lists: %s", text)
		}
		if len(m.Events) != 3 || m.Events[0].Level != "bad" {
			t.Errorf("%+v", m.Events)
		}
	}
	code, _, text := get(t, server.URL+"/api/history?device=/run/zram", nil)
	var c columns
	if err := json.Unmarshal([]byte(text), &c); code != 200 || err != nil || len(c.Times) == 0 || *c.Values[chronicle.Memory][0] != 10<<20 {
		t.Errorf("%d %s: %v", code, text, err)
	}
}

// HEAD of the stream of events is answered at once and takes no page's place, and no page has more
// than its place.
func TestPlacesOfPages(t *testing.T) {
	s, server := sampler(t, options{loopback: true}, healthy())
	for range maxReaders {
		answer, err := http.Head(server.URL + "/api/events")
		if err != nil {
			t.Fatal(err)
		}
		if kind := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || kind != "text/event-stream" {
			t.Errorf("%s, %s", answer.Status, kind)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := s.watchers(); n != 0 {
		t.Errorf("%d places are taken", n)
	}
	first, err := http.Get(server.URL + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	for deadline := time.Now().Add(time.Minute); s.watchers() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	for range maxReaders {
		s.subscribe()
	}
	if _, err := io.Copy(io.Discard, first.Body); err != nil || s.watchers() != maxReaders {
		t.Errorf("the oldest page of %d ends with %v", s.watchers(), err)
	}
}

// F090: the machine's memory pressure is passed on to who listens, each time that it changes, and
// to scrapes.
func TestF090PressureIsPassedOn(t *testing.T) {
	pressure := 0.0
	s, server := sampler(t, options{loopback: true})
	s.take = func(...string) ([]monitor.Sample, error) {
		found := healthy()
		found.Pressure, found.PressureKnown = host.MemoryPressure{Some: pressure}, true
		return []monitor.Sample{found}, nil
	}
	listener := s.subscribe()
	defer s.unsubscribe(listener)
	for _, pressure = range []float64{0, 12.5, 80} {
		l := s.look(0)
		s.send(l)
		var m message
		if err := json.Unmarshal(<-listener, &m); err != nil || len(m.Devices) != 1 || *m.Devices[0].Values[chronicle.Pressure] != pressure {
			t.Errorf("at %v %% the listener gets %+v, %v", pressure, m.Devices, err)
		}
		want := fmt.Sprintf("zramfs_pressure_memory_some_avg10_ratio %v\n", pressure/100)
		if _, _, text := get(t, server.URL+"/metrics", nil); !strings.Contains(text, want) {
			t.Errorf("the metrics have not %q", want)
		}
	}
}

// The journal has what changed between looks.
func TestJournal(t *testing.T) {
	found := []monitor.Sample{healthy()}
	s, _ := sampler(t, options{})
	s.take = func(...string) ([]monitor.Sample, error) { return found, nil }
	s.look(0)
	sick := healthy()
	sick.Device.Status.Restarts, sick.Device.Status.IO.FailedWrites = 2, 5
	sick.Problems = []swapdev.Problem{{What: "it burns"}}
	found = []monitor.Sample{sick}
	s.look(0)
	found = nil
	s.look(0)
	var all []string
	for _, e := range s.journal.newest() {
		all = append(all, e.Level+" "+e.Text)
	}
	want := "note the device is no longer up; bad 5 writes failed: the memory limit is reached, or memory is short; " +
		"bad the worker died and was replaced (2 restarts in all); bad degraded: it burns; note the monitor has begun to watch"
	if got := strings.Join(all, "; "); got != want {
		t.Errorf("%s", got)
	}
}

// A look that fails, and a device that does not answer for a while, are no changes of devices.
func TestJournalGoesOn(t *testing.T) {
	s, _ := sampler(t, options{})
	restarted, silent := healthy(), healthy()
	restarted.Device.Status.Restarts, restarted.Device.Status.Version = 1, "2.0"
	silent.Device.Status, silent.Device.Err = nil, helper.ErrNoAnswer
	silent.Problems = []swapdev.Problem{{What: "no answer"}}
	again := restarted
	for _, found := range [][]monitor.Sample{{restarted}, nil, {restarted}, {silent}, {again}} {
		s.take = func(...string) ([]monitor.Sample, error) {
			if found == nil {
				return nil, errors.New("too many files are open")
			}
			return found, nil
		}
		s.look(0)
	}
	died := restarted
	status := *restarted.Device.Status
	died.Device.Status, status.Restarts = &status, 2
	for _, found := range [][]monitor.Sample{{silent}, {died}} {
		s.take = func(...string) ([]monitor.Sample, error) { return found, nil }
		s.look(0)
	}
	var all []string
	for _, e := range s.journal.newest() {
		all = append(all, e.Text)
	}
	want := "the worker died and was replaced (2 restarts in all); healthy again; degraded: no answer; healthy again; " +
		"degraded: no answer; the monitor has begun to watch"
	if got := strings.Join(all, "; "); got != want {
		t.Errorf("%s", got)
	}
}

// After a look that failed the rates go on, over the time since the last answer.
func TestRatesAfterAFailedLook(t *testing.T) {
	s, _ := sampler(t, options{})
	begin := time.Now()
	for i, failure := range []error{nil, errors.New("too many files are open"), nil} {
		found := healthy()
		found.At = begin.Add(time.Duration(i) * time.Second)
		found.Device.Status.Operations, found.Device.Status.UptimeSeconds = []status.Operation{{Op: "read", Pages: uint64(100 * i)}}, float64(60+i)
		s.take = func(...string) ([]monitor.Sample, error) {
			if failure != nil {
				return nil, failure
			}
			return []monitor.Sample{found}, nil
		}
		if l := s.look(0); i == 2 && (l.views[0].Values[chronicle.PagesIn] == nil || *l.views[0].Values[chronicle.PagesIn] != 100) {
			t.Errorf("no rate: %+v", l.views[0].row)
		}
	}
}

// Without a device the metrics are those of the machine, as zramfs metrics has them.
func TestMetricsWithoutADevice(t *testing.T) {
	_, server := sampler(t, options{loopback: true})
	const name = "zramfs_pressure_memory_some_avg10_ratio "
	_, known := host.Local.Pressure()
	if code, _, text := get(t, server.URL+"/metrics", nil); code != 200 || strings.Contains(text, "\n"+name) != known {
		t.Errorf("%d, pressure known %v:\n%s", code, known, text)
	}
}

// The page wants lists also where there is no device.
func TestNoDevice(t *testing.T) {
	for _, failure := range []error{nil, errors.New("too many files are open")} {
		s, server := sampler(t, options{loopback: true})
		s.take = func(...string) ([]monitor.Sample, error) { return nil, failure }
		if code, _, text := get(t, server.URL+"/api/now", nil); code != 200 || !strings.Contains(text, `"devices":[],"events":[]`) {
			t.Errorf("%d %s", code, text)
		}
	}
}
