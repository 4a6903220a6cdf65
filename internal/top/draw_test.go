// SPDX-License-Identifier: Apache-2.0

package top

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/telemetry/latency"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func TestMain(m *testing.M) {
	time.Local = time.UTC // for texts that are compared
	os.Exit(m.Run())
}

const mib = 1 << 20

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// busy is a sample of a device that fills, n seconds after noon.
func busy(dir string, n int) monitor.Sample {
	used := uint64(2000+10*n) * mib
	counts := func(fast, slow int) latency.Histogram {
		all := make([]uint64, latency.Buckets)
		all[latency.Index(41_000)], all[latency.Index(210_000)] = uint64(fast), uint64(slow)
		return latency.Of(all)
	}
	pages := uint64(1000*n + 40*n*n%977)
	return monitor.Sample{
		At: noon.Add(time.Duration(n) * time.Second),
		Device: swapdev.Device{
			Dir: dir, Keeper: 42,
			Swaps: []loopsetup.Swap{{Path: "/dev/loop0", Size: 4096 * mib, Used: used, Priority: 100}},
			Status: &status.Status{
				KeeperPID: 42, WorkerPID: 43, UptimeSeconds: 273_600 + float64(n), ProcessMemoryBytes: 25 * mib, Algorithm: "adaptive", Restarts: 1,
				CPUSeconds: 1 + 0.031*float64(n),
				Memory:     status.Memory{OrigDataSize: used, MemUsedTotal: used * 10 / uint64(40+n%9)},
				MemLimit:   1536 * mib,
				Codecs:     []status.Codec{{Name: "page", Pages: 22}, {Name: "page:dense", Pages: 71}, {Name: "same", Pages: 5}, {Name: "raw", Pages: 2}},
				Operations: []status.Operation{
					{Op: "read", Requests: uint64(100 * n), Pages: pages, Buckets: counts(95*n, 5*n)},
					{Op: "write", Requests: uint64(10 * n), Pages: pages / 3, Buckets: counts(10*n, 0)},
				},
			},
		},
		Pressure:      host.MemoryPressure{Some: 0.8 + float64(n%5), Full: 0.1},
		PressureKnown: true,
	}
}

// silent is a sample of a stopped device.
func silent(dir string) monitor.Sample {
	s := busy(dir, 0)
	s.Device.Status = nil
	s.Device.Err = &swapdev.Silence{Servers: swapdev.Servers{Worker: host.Process{PID: 43, State: 'T'}}, Dir: dir}
	s.Problems = swapdev.Diagnose(s.Device, s.At)
	return s
}

var swapped = []host.Swapped{
	{PID: 8121, Name: "firefox", Bytes: 1126 * mib, Group: "/user.slice/user-1000.slice/app.slice/firefox.scope"},
	{PID: 9310, Name: "java", Bytes: 640 * mib, Group: "/system.slice/tomcat.service"},
	{PID: 131072, Name: "bad\x1b[2Jname", Bytes: 12 << 10, Group: "/"},
}

// filled is a model after a look a second for more than a minute.
func filled(utf8 bool, dirs ...string) *model {
	m := newModel(utf8)
	for n := range 80 {
		l := look{processes: swapped}
		for _, dir := range dirs {
			l.samples = append(l.samples, busy(dir, n))
		}
		m.add(l)
	}
	m.shown.now = noon.Add(79 * time.Second)
	return m
}

// wantGolden compares a screen with testdata/name.
func wantGolden(t *testing.T, name string, c *canvas) {
	t.Helper()
	path, got := filepath.Join("testdata", name), c.String()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: it shows\n%s\nwant\n%s", name, got, want)
	}
}

// The whole screen at several sizes, with and without UTF-8, of one device and of two.
func TestScreens(t *testing.T) {
	several := filled(true, "/run/zram", "/srv/swap/second")
	several.key('\t')
	who := filled(true, "/run/zram")
	who.key('w')
	help := filled(true, "/run/zram")
	help.key('?')
	none := newModel(true)
	none.add(look{err: swapdev.ErrNotRunning})
	hung := newModel(true)
	hung.add(look{samples: []monitor.Sample{silent("/run/zram")}, processes: swapped})
	sick := filled(true, "/run/zram")
	sick.shown.problems = []swapdev.Problem{{What: "1 page was damaged (Nov 23 12:00:00)", Fix: "test the memory of the machine; the log has the pages' numbers"},
		{What: "91% of its swap is used", Fix: "end programs, or give the machine more swap"}}
	sick.shown.point.Health = "degraded"
	hot := filled(true, "/run/zram")
	hot.shown.point.InZswap, hot.shown.point.Zswap, hot.shown.point.ZswapIn, hot.shown.point.ZswapBack = 512*mib, 170*mib, 12_345, 30
	failed := filled(true, "/run/zram")
	failed.add(look{err: errors.New("read the mount table: no such file")})
	for name, m := range map[string]*model{"one": filled(true, "/run/zram"), "several": several, "ascii": filled(false, "/run/zram"),
		"who": who, "help": help, "none": none, "hung": hung, "failed": failed, "sick": sick, "zswap": hot} {
		for _, size := range [][2]int{{80, 24}, {40, 12}, {200, 60}} {
			if size[0] != 80 && name != "one" && name != "who" && name != "several" && name != "sick" {
				continue
			}
			m.shown.now = noon.Add(79 * time.Second)
			wantGolden(t, fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]), m.draw(size[0], size[1]))
		}
	}
}

// No size makes it panic or write beyond the screen, and the fill of swap is there on the smallest.
func TestEverySize(t *testing.T) {
	two := filled(true, "/run/zram", "/srv/a/very/long/path/of/a/second/device/with/ümläuts/and/漢字")
	two.next(1)
	for _, key := range []rune{0, 'w', '?'} {
		two.key(key)
		for width := range 110 {
			for _, height := range []int{0, 1, 2, 3, 4, 5, 7, 10, 14, 16, 24, 50} {
				c := two.draw(width, height)
				for y := range height {
					if got := term.DisplayWidth(c.line(y)); got > width {
						t.Fatalf("%dx%d: line %d has %d columns: %q", width, height, y, got, c.line(y))
					}
				}
			}
		}
	}
	m := filled(true, "/run/zram")
	if got := m.draw(30, 3).String(); !strings.Contains(got, "2.7G of 4G") {
		t.Errorf("30x3 shows\n%s", got)
	}
}

// Figures on the screen are those of the points.
func TestFigures(t *testing.T) {
	m := filled(true, "/run/zram")
	text := m.draw(100, 30).String()
	p := m.shown.point
	if p.FullIn == nil || p.Growth != 10*mib {
		t.Fatalf("%+v", p)
	}
	for _, want := range []string{"zramfs top  /run/zram  healthy  adaptive  up 3d4h", "12:01:19", "2.7G of 4G", "68%", "full in 2 min", "ratio", term.Ratio(p.Ratio),
		"limit 1.5G", "25M processes", "p50 ", "p99 ", "page:dense 71%  page 22%  same 5%  raw 2%", "3.1% of a processor", "some 4.8%  full 0.1%",
		"none  restarts 1  errors 0", "8121", "1.1G", "firefox", "tomcat.service", "bad?[2Jname"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %q:\n%s", want, text)
		}
	}
}

// A look that fails leaves the figures, and an answer after silence replaces it.
func TestLooks(t *testing.T) {
	m := newModel(true)
	if got := m.draw(80, 24).String(); !strings.Contains(got, "looking for devices") {
		t.Errorf("before the first look:\n%s", got)
	}
	m.add(look{samples: []monitor.Sample{silent("/run/zram")}})
	if got := m.draw(80, 24).String(); !strings.Contains(got, "does not answer") || !strings.Contains(got, "PID 43") || !strings.Contains(got, fmt.Sprintf("%.0f s", helper.AnswerTime.Seconds())) {
		t.Errorf("of a stopped device:\n%s", got)
	}
	m.add(look{samples: []monitor.Sample{busy("/run/zram", 1)}})
	m.add(look{err: errors.New("boom")})
	if got := m.draw(80, 24).String(); !strings.Contains(got, "healthy") || !strings.Contains(got, "boom") {
		t.Errorf("after a failed look:\n%s", got)
	}
	m.add(look{err: swapdev.ErrNotRunning})
	if got := m.draw(80, 24).String(); strings.Contains(got, "healthy") || !strings.Contains(got, "no zramfs device") {
		t.Errorf("without a device:\n%s", got)
	}
}

// The chosen device stays chosen while others come and go, and has its own figures also where
// another device is on the same DIR.
func TestChosenDevice(t *testing.T) {
	m := newModel(true)
	m.add(look{samples: []monitor.Sample{busy("/run/a", 1), silent("/run/b"), busy("/run/b", 100), busy("/run/c", 1)}})
	m.key('n')
	m.key('n')
	if got := m.draw(80, 24).String(); !strings.Contains(got, "/run/b (3 of 4)") || strings.Contains(got, "does not answer") || len(m.shown.points) != 1 || !m.shown.point.Answered() {
		t.Errorf("the second device on /run/b:\n%s", got)
	}
	m.add(look{samples: []monitor.Sample{silent("/run/b"), busy("/run/b", 101), busy("/run/c", 1)}})
	if got := m.draw(80, 24).String(); !strings.Contains(got, "/run/b (2 of 3)") || !m.shown.point.Answered() {
		t.Errorf("after another was ended:\n%s", got)
	}
	m.add(look{samples: []monitor.Sample{busy("/run/c", 2)}})
	if got := m.draw(80, 24).String(); !strings.Contains(got, "/run/c") {
		t.Errorf("after it was ended:\n%s", got)
	}
}

// Paused, it shows the same whatever is seen, and then the newest.
func TestPause(t *testing.T) {
	m := filled(true, "/run/zram")
	m.key('p')
	before := m.draw(80, 24).String()
	m.add(look{samples: []monitor.Sample{busy("/run/zram", 200)}})
	if got := m.draw(80, 24).String(); got != before || !strings.Contains(got, "paused  q quit") {
		t.Errorf("paused it shows\n%s", got)
	}
	m.key('p')
	if got := m.draw(80, 24).String(); !strings.Contains(got, "3.9G of 4G") {
		t.Errorf("after the pause:\n%s", got)
	}
}

func TestPlot(t *testing.T) {
	for _, test := range []struct {
		values        []float64
		width, height int
		characters    []rune
		want          string
	}{
		{[]float64{0, 1, 4, 8}, 4, 1, blocks, " ▁▄█"},
		{[]float64{9, 0, 1, 4, 8}, 4, 1, blocks, " ▁▄█"},
		{[]float64{8, 0.001}, 4, 1, blocks, "  █▁"},
		{[]float64{8, 4, 6}, 3, 2, blocks, "█ ▄\n███"},
		{[]float64{1, 2, 3}, 3, 1, ascii, ".:|"},
		{[]float64{0, 0}, 3, 1, ascii, "   "},
		{nil, 2, 1, blocks, "  "},
	} {
		if got := strings.Join(plot(test.values, test.width, test.height, test.characters), "\n"); got != test.want {
			t.Errorf("plot(%v, %d, %d) is %q, want %q", test.values, test.width, test.height, got, test.want)
		}
	}
	for share, want := range map[float64]string{0: "|    ", 0.5: "|||  ", 0.001: "|    ", 2: "|||||", -1: "     "} {
		if share == 0 {
			want = "     "
		}
		if filled, rest := bar(share, 5, false); filled+rest != want {
			t.Errorf("bar(%g) is %q, want %q", share, filled+rest, want)
		}
	}
}

func TestWords(t *testing.T) {
	for ns, want := range map[int64]string{900: "0.9 us", 41_200: "41 us", 999_000: "999 us", 1_200_000: "1.2 ms", 3_400_000_000: "3.4 s"} {
		if got := duration(ns); got != want {
			t.Errorf("%d ns is %q, want %q", ns, got, want)
		}
	}
	for seconds, want := range map[float64]string{40: "40 s", 1740: "29 min", 18_000: "5 h"} {
		if got := forecast(seconds); got != want {
			t.Errorf("%g s is %q, want %q", seconds, got, want)
		}
	}
	for width, want := range map[int]string{20: "/srv/swap", 6: "..swap", 2: "..", 0: ""} {
		if got := ending("/srv/swap", width); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
}
