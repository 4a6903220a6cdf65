// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/monitoring.md has a row for each metric: name, kind, labels and meaning.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range Metrics {
		known[m.Name] = true
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", m.Name, m.Kind, strings.Join(m.AllLabels(), ", "), m.Help)
		if !strings.Contains(string(text), "\n"+row+"\n") {
			t.Errorf("no row\n%s", row)
		}
	}
	for line := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(line, "| `zramfs_")
		if name, _, _ = strings.Cut(name, "`"); ok && !known["zramfs_"+name] {
			t.Errorf("zramfs_%s is documented and does not exist", name)
		}
	}
}
