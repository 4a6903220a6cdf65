// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/chronicle"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// A report has the figures of each device and the charts of its history, names escaped, and refers
// to nothing outside of itself.
func TestReport(t *testing.T) {
	now := time.Now()
	c := chronicle.New()
	for i := range 600 {
		for _, name := range []string{"/run/zram", "/mnt/<gone>"} {
			r := chronicle.NewRow(now.Add(time.Duration(i-600) * time.Second))
			r.Set(chronicle.Stored, float64(i))
			r.Set(chronicle.Memory, 100)
			c.Add(name, r)
		}
	}
	silent := hung()
	silent.Device.Dir = "/mnt/<hung>"
	text := reportText([]monitor.Sample{healthy(), silent}, c, Config{Build: monitor.Build{Version: "9.9"}}, now, "open <history>: permission denied",
		[]event{{now.UnixMilli(), "/mnt/<gone>", "bad", "worker 7: killed by <signal> 9"}})
	for _, want := range []string{"zramfs 9.9", "worker 7: killed by &lt;signal&gt; 9", "<h2>/run/zram</h2>", "40M, as objects 8M", "/mnt/&lt;gone&gt;", "It is no longer up", "open &lt;history&gt;: permission denied", "<h2>/mnt/&lt;hung&gt;</h2>", "There is no history", `<path class="a" d="M0.0 `} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%.4000s", want, text)
		}
	}
	for _, bad := range []string{"<gone>", "<hung>", "<script", "http:", "https:", "src=", "href=", "NaN", "Inf", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("the report has %q", bad)
		}
	}
	if n := strings.Count(text, "<svg"); n != 4 {
		t.Errorf("%d charts, want 4", n)
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the tags do not match: %v", err)
		}
	}
}

// A device in another mount namespace that answers has its figures, in the page and in a report.
func TestDeviceElsewhere(t *testing.T) {
	away := healthy()
	away.Device.Elsewhere, away.Problems = true, []swapdev.Problem{{What: "it is up elsewhere"}}
	text := reportText([]monitor.Sample{away}, chronicle.New(), Config{}, time.Now(), "", nil)
	if !strings.Contains(text, "40M, as objects 8M") {
		t.Errorf("no figures in\n%.4000s", text)
	}
	_, server := sampler(t, options{loopback: true}, away, hung())
	if _, _, text := get(t, server.URL+"/api/now", nil); !strings.Contains(text, `"answer":"elsewhere","answered":true`) ||
		!strings.Contains(text, `"answer":"timeout","answered":false`) {
		t.Error(text)
	}
}

// The file appears complete, readable by its owner, or not at all.
func TestReportFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.html")
	if err := writeFile(path, "text"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 4 {
		t.Errorf("%+v, %v", info, err)
	}
	if err := writeFile(filepath.Dir(path), "text"); err == nil {
		t.Error("a directory was written")
	}
	link := filepath.Join(t.TempDir(), "stdout")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(link, "other"); err == nil || !strings.Contains(err.Error(), "leave -o out") {
		t.Errorf("a symbolic link, as /dev/stdout is: %v", err)
	}
	if target, err := os.Readlink(link); err != nil || target != path {
		t.Errorf("the link is now %q, %v", target, err)
	}
	null := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, null); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(null, "text"); err != nil {
		t.Errorf("a device: %v", err)
	}
	if target, err := os.Readlink(null); err != nil || target != os.DevNull {
		t.Errorf("the device is now %q, %v", target, err)
	}
	if all, _ := os.ReadDir(filepath.Dir(path)); len(all) != 1 {
		t.Errorf("%v is left", all)
	}
}
