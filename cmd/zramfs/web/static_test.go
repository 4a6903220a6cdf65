// SPDX-License-Identifier: Apache-2.0

package web

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// setBack shows a history whose clock is set back by an hour after ten minutes.
const setBack = `
import { History } from "./charts.js";
const h = new History(600), row = { stored: 1 };
for (let t = 10000; t < 10600; t++) h.push(t, row, 30);
h.push(10590, row, 30);
console.log(h.times.length, h.times.at(-1), h.columns[0][0].length);
for (let t = 7000; t < 7100; t++) h.push(t, row, 30);
console.log(h.times.length, h.times.at(-1), h.columns[0][0].length);
for (let t = 10700; t < 10710; t++) h.push(t, row, 30);
console.log(h.times.length, h.times.at(-1), h.columns[0][0].length);
`

// The charts go on where the clock is set back, and a late message changes nothing.
func TestChartsWhileTheClockIsSet(t *testing.T) {
	require.Command(t, "node")
	dir := t.TempDir()
	files := map[string]string{"package.json": `{"type":"module"}`, "test.js": setBack}
	for _, name := range []string{"charts.js", "format.js"} {
		text, err := static.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", "test.js")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if want := "600 10599 600\n100 7099 100\n10 10709 10\n"; err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(want) {
		t.Errorf("%v: it shows\n%swant\n%s", err, out, want)
	}
}
