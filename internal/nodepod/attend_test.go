// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// codeVariable has the exit code of zramfs.
const codeVariable = "ZRAMFS_TEST_CODE"

// TestMain stands for zramfs of a node without a device where the package runs that, or of one with
// the exit code that codeVariable has.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "node" && os.Args[2] == "zramfs" {
		fmt.Fprintln(os.Stderr, "asked")
		if code, err := strconv.Atoi(os.Getenv(codeVariable)); err == nil {
			if code == codeOK {
				fmt.Println(`{"zramfs":[{"health":"healthy","problems":[],"status":{"worker_pid":7}}]}`)
			}
			os.Exit(code)
		}
		os.Exit(codeNotRunning)
	}
	os.Exit(m.Run())
}

// A listener hears each write.
type listener chan string

func (l listener) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// A pod whose device is gone ends, but not before its preStop command has: that would be killed.
func TestAttendWaitsForLeave(t *testing.T) { wantEnd(t, "/run/zram is gone") }

// So does a pod whose programs another one has removed from the node: they come back with its next
// start, and nothing else would bring swap back.
func TestAttendMissesPrograms(t *testing.T) {
	t.Setenv(codeVariable, strconv.Itoa(CodeNotInstalled))
	wantEnd(t, "zramfs is gone from the node")
}

// A node that is registered anew has the startup taint again, and its pod removes it again.
func TestAttendRemovesTaintAgain(t *testing.T) {
	t.Setenv(codeVariable, strconv.Itoa(codeOK))
	patched := make(chan string, 100)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if _, err2 := io.WriteString(w, `{"spec":{"taints":[{"key":"x"},{"key":"other"}]}}`); errors.Join(err, err2) != nil {
			t.Error(err, err2)
		}
		if r.Method == http.MethodPatch {
			patched <- string(body)
		}
	}))
	defer s.Close()
	r := &runner{node: node{dir: "/run/zram", out: io.Discard, warn: io.Discard}, client: clientOf(t, s), again: time.Millisecond,
		o: options{interval: time.Millisecond, taint: "x", node: "node-1"}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.attend(ctx) }()
	for range 2 {
		select {
		case got := <-patched:
			if strings.Contains(got, `"x"`) || !strings.Contains(got, "other") {
				t.Errorf("patched to %s", got)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the taint stays")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// wantEnd has a pod look at the node until it ends, after its preStop command.
func wantEnd(t *testing.T, why string) {
	t.Helper()
	unlock, err := lockLeave()
	if err != nil {
		t.Fatal(err)
	}
	heard, ended := make(listener, 100), make(chan error, 1)
	r := &runner{node: node{dir: "/run/zram", out: heard, warn: heard}, o: options{interval: time.Millisecond}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- r.attend(ctx) }()
	for range 3 {
		select {
		case <-heard:
		case err := <-ended:
			t.Fatalf("the pod ends while leave runs: %v", err)
		}
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case <-heard:
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Error(err)
			}
			return
		}
	}
}
