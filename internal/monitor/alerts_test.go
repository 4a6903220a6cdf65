// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// monitoring returns a file of dist/monitoring.
func monitoring(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../dist/monitoring", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The dashboard is JSON, and every metric that a rule or a chart names exists, with the labels that
// it selects by.
func TestMetricsExist(t *testing.T) {
	if !json.Valid([]byte(monitoring(t, "grafana.json"))) {
		t.Error("grafana.json is no JSON")
	}
	name := regexp.MustCompile(`\bzramfs_[a-z0-9_]+`)
	selected := regexp.MustCompile(`\b(zramfs_[a-z0-9_]+)\{([^}]*)\}`)
	for what, text := range map[string]string{"rules": monitoring(t, "alerts.yml"), "grafana": strings.ReplaceAll(monitoring(t, "grafana.json"), `\"`, `"`)} {
		found := name.FindAllString(text, -1)
		if len(found) < 9 {
			t.Errorf("%s: only %q", what, found)
		}
		for _, n := range found {
			if _, ok := Find(strings.TrimSuffix(n, "_bucket")); !ok {
				t.Errorf("%s: there is no metric %s", what, n)
			}
		}
		for _, m := range selected.FindAllStringSubmatch(text, -1) {
			metric, _ := Find(strings.TrimSuffix(m[1], "_bucket"))
			labels := " instance " + strings.Join(metric.AllLabels(), " ") + " "
			for _, l := range regexp.MustCompile(`(\w+)=`).FindAllStringSubmatch(m[2], -1) {
				if !strings.Contains(labels, " "+l[1]+" ") {
					t.Errorf("%s: %s has no label %s", what, m[1], l[1])
				}
			}
		}
	}
}

// promtool accepts the rules, and they fire when they should.
func TestRulesFire(t *testing.T) {
	require.Command(t, "promtool")
	dir := t.TempDir()
	cases, err := os.ReadFile("testdata/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"alerts.yml": monitoring(t, "alerts.yml"), "alerts_test.yml": string(cases)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}
