// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// browserTimeout bounds one command to the browser.
const browserTimeout = 20 * time.Second

// A browser is a headless Chromium with one page, driven by the DevTools protocol over two pipes.
type browser struct {
	t       testing.TB
	to      *os.File
	session string

	mu      sync.Mutex
	next    int
	answers map[int]chan browserMessage
	errors  []string // of the console, of scripts, of the security policy
	asked   []string // addresses of all requests
}

// A browserMessage is an answer or an event.
type browserMessage struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// browserPath is the program, or skips the test.
func browserPath(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	require.Command(t, "chromium-headless-shell") // says that it is missing
	return ""
}

// startBrowser starts a browser, which ends with the test.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	path := browserPath(t)
	profile, err := os.MkdirTemp(root, "browser-")
	if err != nil {
		t.Fatal(err)
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
		"--disable-background-networking", "--no-first-run", "--force-color-profile=srgb", "--user-data-dir="+profile, "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, to: in, answers: map[int]chan browserMessage{}}
	go b.listen(out)
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its helpers
		_ = cmd.Wait()                                      // it was killed
		_ = os.RemoveAll(profile)                           // a helper may still write; root goes with the run
		for _, f := range []*os.File{theirIn, theirOut, in, out} {
			_ = f.Close()
		}
	})
	b.attach()
	return b
}

// attach opens the page and asks for its events.
func (b *browser) attach() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.do(domain+".enable", nil, nil)
	}
}

// listen reads what the browser says until it ends.
func (b *browser) listen(from *os.File) {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m browserMessage
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.answers[m.ID]; m.ID != 0 && c != nil {
			c <- m
			delete(b.answers, m.ID)
		}
		b.note(m)
		b.mu.Unlock()
	}
}

// note remembers an event that matters.
func (b *browser) note(m browserMessage) {
	var p struct {
		Type    string
		Args    []struct{ Value any }
		Request struct{ URL string }
		Entry   struct{ Level, Text, URL string }
	}
	if m.Method == "" || json.Unmarshal(m.Params, &p) != nil {
		return
	}
	switch m.Method {
	case "Network.requestWillBeSent":
		b.asked = append(b.asked, p.Request.URL)
	case "Runtime.exceptionThrown":
		b.errors = append(b.errors, string(m.Params))
	case "Runtime.consoleAPICalled":
		if p.Type == "error" || p.Type == "warning" || p.Type == "assert" {
			b.errors = append(b.errors, fmt.Sprint(p.Args))
		}
	case "Log.entryAdded":
		if p.Entry.Level == "error" || p.Entry.Level == "warning" {
			b.errors = append(b.errors, p.Entry.Text+" "+p.Entry.URL)
		}
	}
}

// do has the browser carry out a command.
func (b *browser) do(method string, params any, result any) {
	b.t.Helper()
	b.mu.Lock()
	b.next++
	id, c := b.next, make(chan browserMessage, 1)
	b.answers[id] = c
	b.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if params == nil {
		message["params"] = map[string]any{}
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case m := <-c:
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(browserTimeout):
		b.t.Fatalf("%s: the browser does not answer", method)
	}
}

// size makes the window so large; dark chooses the theme that it prefers.
func (b *browser) size(width, height int, dark bool) {
	b.t.Helper()
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}, nil)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.do("Page.navigate", map[string]any{"url": url}, nil)
}

// eval runs JavaScript in the page and decodes its value, which may be a promise.
func (b *browser) eval(script string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.do("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", script, r.ExceptionDetails)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(r.Result.Value, value); err != nil {
		b.t.Fatalf("%s: %v in %s", script, err, r.Result.Value)
	}
}

// await waits until a condition in the page is true.
func (b *browser) await(condition string) {
	b.t.Helper()
	for end := time.Now().Add(browserTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var ok bool
		if b.eval("Boolean("+condition+")", &ok); ok {
			return
		}
	}
	b.t.Fatalf("the page never had %s; errors: %q", condition, b.troubles())
}

// screenshot returns the visible page as PNG, or all of it.
func (b *browser) screenshot(whole bool) []byte {
	b.t.Helper()
	var r struct{ Data string }
	b.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole}, &r)
	image, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return image
}

// troubles returns the errors so far.
func (b *browser) troubles() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.errors...)
}

// outside returns the requests to other places than the server at url.
func (b *browser) outside(url string) (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.asked {
		if !strings.HasPrefix(a, url) && a != "about:blank" {
			all = append(all, a)
		}
	}
	return all
}
