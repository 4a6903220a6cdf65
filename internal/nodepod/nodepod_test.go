// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/dist/systemd"
)

func TestOptions(t *testing.T) {
	t.Setenv("NODE_NAME", "node-1")
	t.Setenv("POD_NAME", "zramfs-x")
	t.Setenv("POD_NAMESPACE", "kube-system")
	o, err := parseRun([]string{"--on-delete", "swapoff", "--startup-taint", "zramfs.io/not-ready", "--", "--size", "4G"}, io.Discard)
	if err != nil || o.dir != "/run/zram" || o.node != "node-1" || !slices.Equal(o.upArgs(), []string{"up", "--size", "4G", "/run/zram"}) {
		t.Errorf("%+v, %v", o, err)
	}
	for args, want := range map[string]string{
		"--dir run/zram":        "absolute path",
		"--dir /":               "absolute path",
		"--dir /run/../zram":    "absolute path",
		"--on-delete never":     "say keep or swapoff",
		"--interval 1ms":        "below 1s",
		"/run/zram":             "--dir names the directory",
		"--no-such":             "not defined",
		"-- --size 4G --x /run": "",
	} {
		if _, err := parseRun(strings.Fields(args), io.Discard); want != "" && (!errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
	t.Setenv("NODE_NAME", "")
	for _, args := range []string{"--on-delete swapoff", "--startup-taint x"} {
		if _, err := parseRun(strings.Fields(args), io.Discard); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "spec.nodeName") {
			t.Errorf("%s: %v", args, err)
		}
	}
	t.Setenv("POD_NAME", "")
	if _, err := parseLeave([]string{"--on-delete", "swapoff"}, io.Discard); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "POD_NAME") {
		t.Error(err)
	}
	for _, args := range []string{"x", "--wait -1s"} {
		if _, err := parseLeave(strings.Fields(args), io.Discard); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestParseState(t *testing.T) {
	for text, want := range map[string]state{
		`{"schema":1,"zramfs":[]}`: {},
		`{"schema":1,"zramfs":[{"health":"healthy","problems":[],"status":{"worker_pid":7}}]}`:           {running: true, healthy: true, worker: 7},
		`{"schema":1,"zramfs":[{"health":"degraded","problems":[{"what":"it is dead"}],"status":null}]}`: {running: true, what: []string{"it is dead"}},
	} {
		s, err := parseState([]byte(text))
		if err != nil || s.running != want.running || s.healthy != want.healthy || s.worker != want.worker || !slices.Equal(s.what, want.what) {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
	if _, err := parseState([]byte("x")); err == nil {
		t.Error("no error for what is no JSON")
	}
}

// TestUnit compares the service of a pod with that of packages: commands and installation alone
// differ.
func TestUnit(t *testing.T) {
	u, err := unitFor("/run/zram", []string{"up", "--algorithm", `zstd(level=1,dict=/a b)`, "--spill", `/x%y"$z`, "/run/zram"})
	if err != nil || u.name != "zramfs-pod@zram.service" {
		t.Fatal(u.name, err)
	}
	const program = `"/run/zramfs/programs/current/zramfs" `
	for _, line := range []string{
		"ExecStart=" + program + `"up" "--algorithm" "zstd(level=1,dict=/a b)" "--spill" "/x%%y\"$$z" "/run/zram"`,
		"ExecReload=" + program + `"upgrade" "/run/zram"`,
		"ExecStop=" + program + `"down" "--wait" "60" "/run/zram"`,
	} {
		if strings.Count(u.text, line+"\n") != 1 {
			t.Errorf("the unit lacks %s:\n%s", line, u.text)
		}
	}
	for line := range strings.Lines(systemd.Unit) {
		key, _, _ := strings.Cut(line, "=")
		if strings.HasPrefix(line, "[Install]") {
			break
		}
		own := strings.HasPrefix(key, "Exec") || key == "EnvironmentFile" || strings.HasPrefix(line, "#")
		if has := strings.Contains(u.text, line); has == own {
			t.Errorf("the unit has %q: %v", line, has)
		}
	}
	if strings.Contains(u.text, "[Install]") || strings.Count(u.text, "\nExec") != 3 {
		t.Errorf("the unit is\n%s", u.text)
	}
	if _, err := unitFor("/run/z ram", nil); !errors.Is(err, ErrUsage) {
		t.Error(err)
	}
}

// A unit that cannot be written whole leaves the one that was there.
func TestWriteFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "unit")
	if err := writeFile(path, "one"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", path+".new"); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(path, "two"); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() != int64(len("one")) {
		t.Errorf("%v, %v", info, err)
	}
}
