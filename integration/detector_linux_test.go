// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

const detector = "../dist/node-problem-detector/"

// runDetector runs the plugin of node-problem-detector as a service of the node does.
func runDetector(t *testing.T, program string, args ...string) result {
	t.Helper()
	cmd := exec.Command(detector+"zramfs.sh", args...)
	cmd.Env = append(os.Environ(), "ZRAMFS="+program, "KUBERNETES_SERVICE_HOST=")
	return runCommand(t, commandTimeout, cmd)
}

// The plugin tells a healthy device from a degraded one and from none.
func TestDetectorPlugin(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "64M", "-a", "lz4")
	if r := runDetector(t, binary(t), dir); r.Code != 0 || r.Stdout != "every device of zramfs is healthy\n" || r.Stderr != "" {
		t.Errorf("healthy: %+v", r)
	}
	if r := run(t, commandTimeout, "status", "-q", dir); r.Code != 0 || r.Stdout+r.Stderr != "" {
		t.Errorf("status -q of a healthy device: %+v", r)
	}
	system(t, commandTimeout, "dd", "if=/dev/urandom", "of="+data(dir), "bs=1M", "count=8", "conv=notrunc,fsync", "status=none")
	mustRun(t, commandTimeout, "set", dir, fmt.Sprintf("mem-limit=%d", inUse(statusOf(t, dir).Memory)+1<<19))
	if r := runDetector(t, binary(t), dir); r.Code != 1 || !strings.Contains(r.Stdout, dir+": ") || strings.Count(r.Stdout, "\n") != 1 || r.Stderr != "" {
		t.Errorf("degraded: %+v", r)
	}
	for _, test := range []struct {
		program, says string
		args          []string
	}{
		{binary(t), "no zramfs device at", []string{filepath.Join(dir, "nothing")}},
		{binary(t), "one DIR at most", []string{"a", "b"}},
		{"/nonexistent/zramfs", "is not installed", nil},
	} {
		if r := runDetector(t, test.program, test.args...); r.Code != 2 || !strings.Contains(r.Stdout, test.says) || strings.Count(r.Stdout, "\n") != 1 || r.Stderr != "" {
			t.Errorf("%s %q: %+v; want 2 and %q", test.program, test.args, r, test.says)
		}
	}
	if r := run(t, commandTimeout, "status", "-q", "-J"); r.Code != 2 || !strings.Contains(r.Stderr, "exclude each other") {
		t.Errorf("status -q -J: %+v", r)
	}
}

// detectorConfig has the fields that node-problem-detector reads of a custom plugin monitor.
type detectorConfig struct {
	Plugin       string
	PluginConfig struct {
		Interval    string `json:"invoke_interval"`
		Timeout     string
		MaxOutput   int `json:"max_output_length"`
		Concurrency int
		Update      bool `json:"enable_message_change_based_condition_update"`
		SkipInitial bool `json:"skip_initial_status"`
	}
	Source           string
	MetricsReporting bool
	Conditions       []struct{ Type, Reason, Message string }
	Rules            []struct{ Type, Condition, Reason, Path, Timeout string }
}

// The configuration is one that node-problem-detector accepts, and names the plugin.
func TestDetectorConfig(t *testing.T) {
	text, err := os.ReadFile(detector + "zramfs.json")
	if err != nil {
		t.Fatal(err)
	}
	var c detectorConfig
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	all, err := time.ParseDuration(c.PluginConfig.Timeout)
	interval, err2 := time.ParseDuration(c.PluginConfig.Interval)
	if err != nil || err2 != nil || all > interval || c.Plugin != "custom" || len(c.Rules) != 1 || len(c.Conditions) != 1 || c.Source == "" {
		t.Fatalf("%v, %v: %+v", err, err2, c)
	}
	r := c.Rules[0]
	own, err := time.ParseDuration(r.Timeout)
	if err != nil || own > all || r.Type != "permanent" || r.Condition != c.Conditions[0].Type || r.Reason == "" || r.Reason == c.Conditions[0].Reason {
		t.Errorf("%v: %+v", err, r)
	}
	info, err := os.Stat(detector + filepath.Base(r.Path))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("%v: the plugin is not executable", err)
	}
}
