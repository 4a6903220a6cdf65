// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	shows(t, setBack, "600 10599 600\n100 7099 100\n10 10709 10\n", "charts.js", "format.js")
}

// brokenStream has a browser's EventSource, without a network: fail ends its connection.
const brokenStream = `
const made = [];
globalThis.EventSource = class {
  static CLOSED = 2;
  constructor(url) { this.url = url; this.readyState = 1; made.push(this); }
  fail(state) { this.readyState = state; this.onerror(); }
};
const { connect } = await import("./stream.js");
let lost = 0, heard = "";
connect("api/events", e => { heard += e.data; }, () => lost++, 1);
made[0].fail(0); // the connection broke: the browser tries again
await new Promise(done => setTimeout(done, 20));
console.log(made.length, lost);
made[0].fail(EventSource.CLOSED); // an answer of 502 or 503: it does not
while (made.length < 2) await new Promise(done => setTimeout(done, 1));
made[1].onmessage({ data: "a look" });
console.log(made.length, lost, made[1].url, heard);
`

// A page whose stream a browser has given up, as after an answer of 503, opens another one.
func TestPageTriesAgain(t *testing.T) {
	shows(t, brokenStream, "1 1\n2 2 api/events a look\n", "stream.js")
}

// shows runs a script next to files of the page, and compares what it prints.
func shows(t *testing.T, script, want string, names ...string) {
	t.Helper()
	require.Command(t, "node")
	dir := t.TempDir()
	files := map[string]string{"package.json": `{"type":"module"}`, "test.js": script}
	for _, name := range names {
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "test.js")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(want) {
		t.Errorf("%v: it shows\n%swant\n%s", err, out, want)
	}
}
