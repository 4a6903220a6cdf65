// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	raster "image"
	"image/png"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// screenshotsVariable names a directory for the screenshots of docs/monitoring.md.
const screenshotsVariable = "ZRAMFS_SCREENSHOTS"

// startDashboard starts zramfs serve, which ends with the test, and returns its address.
func startDashboard(t testing.TB, flags ...string) (url string) {
	t.Helper()
	cmd := command(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	line, err := bufio.NewReader(says).ReadString('\n')
	url = regexp.MustCompile(`http://\S+/`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("serve says %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, says) }() // until it ends
	return url
}

// fetch returns what the server has at a path.
func fetch(t testing.TB, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// swappedDashboard has real pages in swap on a device of its own and returns its DIR, the process
// that has them, and the dashboard's address.
func swappedDashboard(t *testing.T) (dir string, m *memoryClient, url string) {
	t.Helper()
	browserPath(t)
	group := memoryGroup(t, "dashboard", pressureLimit)
	m = startMemory(t, memoryOrder{Pages: pressureSize / memoryPage, Source: sourceMix, Group: group})
	dir = swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "1G", "--slots", "keep", dir)
	t.Cleanup(func() {
		liftLimit(t, group)
		mustRun(t, downTimeout, "down", dir)
	})
	m.do(t, "fill")
	return dir, m, startDashboard(t)
}

// text returns the text of an element of the page.
func (b *browser) text(selector string) (text string) {
	b.t.Helper()
	b.eval("document.querySelector("+strconv.Quote(selector)+").textContent", &text)
	return text
}

// wantClean wants a page without errors that has asked no other server.
func (b *browser) wantClean(url string) {
	b.t.Helper()
	if all := b.troubles(); len(all) > 0 {
		b.t.Errorf("errors in the page: %q", all)
	}
	if all := b.outside(url); len(all) > 0 {
		b.t.Errorf("the page asked for %q", all)
	}
}

// show opens the dashboard on a device and waits for an update of it.
func (b *browser) show(url, dir string) {
	b.t.Helper()
	b.open(url)
	b.await("window.zramfsUpdates && zramfsUpdates.count > 1")
	b.eval("[...document.querySelectorAll('#devices button')].find(b => b.textContent === "+strconv.Quote(dir)+").click()", nil)
	count := 0
	b.eval("zramfsUpdates.count", &count)
	b.await("zramfsUpdates.count > " + strconv.Itoa(count+1)) // the next may be of the other device
}

// sizeShown reads a size as the page writes it.
func sizeShown(t *testing.T, text string) float64 {
	t.Helper()
	m := regexp.MustCompile(`^(-?[\d.]+) (B|KiB|MiB|GiB)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q is no size", text)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v * float64(uint64(1)<<(10*slices.Index([]string{"B", "KiB", "MiB", "GiB"}, m[2])))
}

// wantPage wants a size in the page to three digits.
func wantPage(t *testing.T, b *browser, field string, want float64) {
	t.Helper()
	text := b.text("[data-field=" + field + "]")
	if got := sizeShown(t, text); math.Abs(got-want) > 0.006*math.Abs(want) {
		t.Errorf("%s shows %q, the counters say %.0f", field, text, want)
	}
}

// settled waits until a device is idle: its counters stay as they are for two seconds.
func settled(t *testing.T, dir string) (s status.Status) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); {
		before := statusOf(t, dir)
		time.Sleep(2500 * time.Millisecond)
		s = statusOf(t, dir)
		if s.Memory == before.Memory && s.IO.Writes == before.IO.Writes && s.IO.Reads == before.IO.Reads {
			return s
		}
	}
	t.Fatal("the device is never idle")
	return s
}

// G.121: the figures of the page are those of status and of the metrics, for real pages of memory.
func TestG121DashboardEqualsCounters(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	b := startBrowser(t)
	b.size(1920, 1080, true)
	dir, m, url := swappedDashboard(t)
	b.show(url, dir)
	s := settled(t, dir)
	label := `{device="` + dir + `"}`
	_, text := fetch(t, url+"metrics")
	wantPage(t, b, "stored", float64(s.Memory.OrigDataSize))
	wantPage(t, b, "memory", float64(s.Memory.MemUsedTotal+s.ProcessMemoryBytes))
	wantPage(t, b, "saved", metric(t, text, "zramfs_saved_bytes", label))
	wantPage(t, b, "swap-of", metric(t, text, "zramfs_swap_used_bytes", label))
	if got := metric(t, text, "zramfs_data_bytes", label); got != float64(s.Memory.OrigDataSize) {
		t.Errorf("the metrics have %v stored, status %d", got, s.Memory.OrigDataSize)
	}
	if got := strings.ReplaceAll(b.text("[data-field=pages]"), ",", ""); got != strconv.FormatUint(s.Memory.PagesStored, 10) {
		t.Errorf("the page has %s pages, status %d", got, s.Memory.PagesStored)
	}
	for i, o := range s.Operations {
		row := "#operations tbody tr:nth-child(" + strconv.Itoa(i+1) + ") "
		if op, n := b.text(row+"th"), strings.ReplaceAll(b.text(row+"td"), ",", ""); op != o.Op || n != strconv.FormatUint(o.Requests, 10) {
			t.Errorf("%s %s, status has %s %d", op, n, o.Op, o.Requests)
		}
	}
	if ratio := float64(s.Memory.OrigDataSize) / float64(s.Memory.MemUsedTotal); ratio < 2 || s.Memory.SamePages*2 > s.Memory.PagesStored {
		t.Errorf("ratio %.2f, %d of %d pages same-filled: not what programs have", ratio, s.Memory.SamePages, s.Memory.PagesStored)
	}
	if code, text := fetch(t, url+"healthz"); (code == 200) != (run(t, commandTimeout, "status").Code == 0) {
		t.Errorf("healthz says %d %s", code, text)
	}
	b.wantClean(url)
	m.end(t)
}

// G.122: meters and charts use more than half of the cells of a grid of 32 x 18 on a screenshot of
// 1920 x 1080 pixels, and the page fits a phone's width.
func TestG122DashboardFillsTheScreen(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	b := startBrowser(t)
	b.size(1920, 1080, true)
	dir, m, url := swappedDashboard(t)
	b.show(url, dir)
	m.do(t, "walk") // something to see
	m.do(t, "random")
	for range pictured() {
		m.do(t, "walk")
		m.do(t, "random")
	}
	keep(t, b, dir, "dashboard-dark.png")
	shot := b.screenshot(false)
	if used := usedCells(t, b, shot); used*2 <= 32*18 {
		t.Errorf("%d of %d cells are used", used, 32*18)
	} else {
		t.Logf("%d of %d cells are used", used, 32*18)
	}
	b.size(1920, 1080, false)
	b.await("getComputedStyle(document.body).backgroundColor === 'rgb(243, 245, 247)'")
	count := 0
	b.eval("zramfsUpdates.count", &count)
	b.await("zramfsUpdates.count > " + strconv.Itoa(count+1))
	keep(t, b, dir, "dashboard-light.png")
	b.size(390, 844, true)
	b.await("document.documentElement.scrollWidth <= 390 && zramfsUpdates.count > " + strconv.Itoa(count+3))
	keep(t, b, dir, "dashboard-phone.png")
	b.wantClean(url)
	m.end(t)
}

// pictured is how often more something happens before a picture that is kept.
func pictured() int {
	if os.Getenv(screenshotsVariable) == "" {
		return 0
	}
	return 3
}

// keep writes a screenshot where the environment asks for it, in which the test's DIR is /run/zram.
func keep(t *testing.T, b *browser, dir, name string) {
	t.Helper()
	to := os.Getenv(screenshotsVariable)
	if to == "" {
		return
	}
	b.eval(`document.querySelectorAll("#devices button, #events b").forEach(e => { e.textContent = e.textContent.replace(`+strconv.Quote(dir)+`, "/run/zram"); })`, nil)
	if err := os.WriteFile(filepath.Join(to, name), b.screenshot(false), 0o644); err != nil {
		t.Fatal(err)
	}
}

// usedCells counts the cells that a meter or chart covers by half and in which something is drawn.
func usedCells(t *testing.T, b *browser, shot []byte) (used int) {
	t.Helper()
	var boxes [][4]float64
	b.eval("[...document.querySelectorAll('.chart, #summary .card')].map(e => e.getBoundingClientRect()).map(r => [r.left, r.top, r.right, r.bottom])", &boxes)
	pixels, err := png.Decode(bytes.NewReader(shot))
	if err != nil || pixels.Bounds().Dx() != 1920 || pixels.Bounds().Dy() != 1080 {
		t.Fatalf("the screenshot is no picture of 1920 x 1080 pixels: %v", err)
	}
	const side = 60
	for y := 0; y < 1080; y += side {
		for x := 0; x < 1920; x += side {
			covered := 0.0
			for _, r := range boxes {
				covered += max(0, min(r[2], float64(x+side))-max(r[0], float64(x))) * max(0, min(r[3], float64(y+side))-max(r[1], float64(y)))
			}
			if covered*2 >= side*side && drawn(pixels, x, y, side) {
				used++
			}
		}
	}
	return used
}

// drawn reports whether a cell has more than one colour.
func drawn(shot raster.Image, x, y, side int) bool {
	first := shot.At(x, y)
	for dy := range side {
		for dx := range side {
			if shot.At(x+dx, y+dy) != first {
				return true
			}
		}
	}
	return false
}

// G.123: updates come each second while the device is under load, and 99 of 100 keep the page's
// thread for less than 10 ms: script with all drawing commands, style and layout.
func TestG123DashboardNeverStalls(t *testing.T) {
	t.Parallel()
	require.FUSE(t)
	require.Root(t)
	browserPath(t)
	dir := mount(t, "--size", "256M")
	load := exec.Command("sh", "-c", `while :; do dd if="$1" of="$2" bs=1M conv=notrunc oflag=direct status=none; sleep 0.2; done`, "load", binary(t), data(dir))
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = load.Process.Kill()
		_ = load.Wait() // it was killed
	}()
	url := startDashboard(t)
	b := startBrowser(t)
	b.size(1920, 1080, true)
	b.do("Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil)
	b.show(url, dir)
	// Other programs take the caches from the thread, which only adds to its time.
	for try := 1; ; try++ {
		begun, waited := time.Now(), processorWait(t)
		took := b.updateTimes()
		most, p99 := 10.0, took[(len(took)*99-1)/100]
		if waited = processorWait(t) - waited; waited > time.Since(begun)/4 {
			most = 20
		}
		t.Logf("milliseconds of the page's thread for an update: median %.1f, p99 %.1f; programs waited for processors %v of %v",
			took[len(took)/2], p99, waited.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
		if p99 < most || waited > time.Since(begun)/2 { // so busy a machine says nothing of the page
			break
		}
		if try == 2 {
			t.Errorf("one of 100 updates took %.1f ms of the page's thread, more than %g: %.1f", p99, most, took)
			break
		}
	}
	var gaps []float64
	b.eval("zramfsUpdates.at.slice(1).map((t, i) => t - zramfsUpdates.at[i])", &gaps)
	if stall := slices.Max(gaps); stall > 3000 {
		t.Errorf("no update for %.0f ms", stall)
	}
	b.wantClean(url)
}

// processorWait is for how long any program of the machine has waited for a processor; 0 where the
// kernel does not say.
func processorWait(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/pressure/cpu")
	if err != nil {
		return 0
	}
	var total int64
	if _, after, ok := strings.Cut(string(text), "total="); !ok {
		t.Errorf("/proc/pressure/cpu has %q", text)
	} else if _, err := fmt.Sscan(after, &total); err != nil {
		t.Errorf("/proc/pressure/cpu: %v", err)
	}
	return time.Duration(total) * time.Microsecond
}

// updateTimes measures the milliseconds of the page's thread for each of some updates, shortest
// first.
func (b *browser) updateTimes() (took []float64) {
	b.t.Helper()
	const few, many = 30, 100 // many only where one of few was slow
	for count, busy := b.progress(); len(took) < few || len(took) < many && slices.Max(took) >= 10; {
		b.await("zramfsUpdates.count > " + strconv.Itoa(count))
		time.Sleep(300 * time.Millisecond) // until it is drawn
		now, then := b.progress()
		took = append(took, 1000*(then-busy)/float64(now-count))
		count, busy = now, then
	}
	slices.Sort(took)
	return took
}

// progress returns the number of updates, and for how long the page's thread has run scripts and
// made style and layout, in seconds of its own: what else the machine does is not in it.
func (b *browser) progress() (count int, busy float64) {
	b.t.Helper()
	b.eval("zramfsUpdates.count", &count)
	var r struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	b.do("Performance.getMetrics", nil, &r)
	for _, m := range r.Metrics {
		switch m.Name {
		case "ScriptDuration", "LayoutDuration", "RecalcStyleDuration":
			busy += m.Value
		}
	}
	return count, busy
}

// A device whose processes are stopped shows as such, and delays no answer by more than its
// deadline.
func TestServeHungDevice(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	dir, other := mount(t, "--size", "64M"), mount(t, "--size", "64M")
	url := startDashboard(t)
	if code, text := fetch(t, url+"healthz"); code != 200 {
		t.Logf("%d %s", code, text) // other devices of the machine may be degraded
	}
	s := statusOf(t, dir)
	pids := []string{strconv.Itoa(s.KeeperPID), strconv.Itoa(s.WorkerPID)}
	system(t, commandTimeout, "kill", append([]string{"-STOP"}, pids...)...)
	defer system(t, commandTimeout, "kill", append([]string{"-CONT"}, pids...)...)
	time.Sleep(1100 * time.Millisecond) // the last look is too old
	begin := time.Now()
	_, text := fetch(t, url+"metrics")
	if up := metric(t, text, "zramfs_up", `{device="`+dir+`"}`); up != 0 {
		t.Errorf("the stopped device is up: %v", up)
	}
	if up := metric(t, text, "zramfs_up", `{device="`+other+`"}`); up != 1 {
		t.Errorf("the other device is not up: %v", up)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the metrics took %s", took)
	}
	if r := run(t, commandTimeout, "top", "--once", dir); r.Code != 0 || !strings.Contains(r.Stdout, "does not answer") {
		t.Errorf("top: %+v", r)
	}
	code, text := fetch(t, url+"healthz")
	if code != http.StatusServiceUnavailable || !strings.Contains(text, dir+": ") {
		t.Errorf("healthz: %d %s", code, text)
	}
	var now struct {
		Devices []struct{ Name, Answer string }
	}
	if _, text := fetch(t, url+"api/now"); json.Unmarshal([]byte(text), &now) != nil {
		t.Errorf("%s", text)
	}
	for _, d := range now.Devices {
		if d.Name == dir && d.Answer != "timeout" {
			t.Errorf("%+v", d)
		}
	}
}

// The keeper is stopped, and the worker serves on: its events, which the keeper hands out, keep no
// request waiting.
func TestServeStoppedKeeper(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	dir := mount(t, "--size", "64M")
	keeper := strconv.Itoa(statusOf(t, dir).KeeperPID)
	system(t, commandTimeout, "kill", "-STOP", keeper)
	defer system(t, commandTimeout, "kill", "-CONT", keeper)
	begin := time.Now()
	_, text := fetch(t, startDashboard(t)+"metrics")
	if up := metric(t, text, "zramfs_up", `{device="`+dir+`"}`); up != 1 {
		t.Errorf("the device is not up: %v", up)
	}
	if took := time.Since(begin); took > 6*time.Second {
		t.Errorf("the metrics took %s", took)
	}
}
