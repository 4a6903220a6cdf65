// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// guardQuick is the limit of a guard that is to act in the test. It is longer than
// what a test does before.
const guardQuick = 2 * time.Second

// guardedMount returns a served device without swap.
func guardedMount(t *testing.T) (dir string) {
	t.Helper()
	require.FUSE(t)
	require.Root(t)
	return mount(t, "--size", "64M")
}

// wantAborted checks that the guard has ended the connection: the server has
// nothing left to do and goes.
func wantAborted(t *testing.T, g *guardProcess, dir string, pid int) {
	t.Helper()
	if acted, err := g.wait(); !acted || err != nil {
		t.Errorf("the guard acted: %t, %v", acted, err)
	}
	if !waitEnd(pid, answerTimeout) {
		t.Errorf("%s is still served", dir)
	}
}

// The path that the guard goes when a swapoff hangs, without swap: the connection
// of a device is aborted when the time is over.
func TestGuardAbortsConnectionAfterLimit(t *testing.T) {
	dir := guardedMount(t)
	pid := statusOf(t, dir).PID
	began := time.Now()
	g := startGuard(t, dir, guardQuick)
	wantAborted(t, g, dir, pid)
	if took := time.Since(began); took < guardQuick {
		t.Errorf("it acted after %s, its limit was %s", took, guardQuick)
	}
}

// A test that dies closes its end of the pipe without a word.
func TestGuardActsAtOnceWhenTheTestDies(t *testing.T) {
	dir := guardedMount(t)
	pid := statusOf(t, dir).PID
	began := time.Now()
	g := startGuard(t, dir, guardLimit)
	if err := g.life.Close(); err != nil {
		t.Error(err)
	}
	wantAborted(t, g, dir, pid)
	if took := time.Since(began); took > guardLimit/2 {
		t.Errorf("it acted after %s", took)
	}
}

func TestGuardStaysQuietAfterGoodBye(t *testing.T) {
	dir := guardedMount(t)
	startGuard(t, dir, guardLimit).dismiss(t)
	if s := statusOf(t, dir); s.Dir != dir {
		t.Errorf("status %+v", s)
	}
}

// TestGuardTurnsSwapOff lets a guard act on real swap. Every page has to be back
// before it aborts the connection.
func TestGuardTurnsSwapOff(t *testing.T) {
	dir := swapDir(t)
	m := startMemory(t, memoryOrder{Pages: 16 << 20 / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	g := startGuard(t, dir, guardLimit)
	mustRun(t, commandTimeout, "up", "--size", "256M", "--devices", "1", dir)
	pid := statusOf(t, dir).PID
	m.do(t, "pageout")
	if on, err := swapOn(dir); err != nil || len(on) != 1 || on[0].Used == 0 {
		t.Errorf("swap before the guard acts: %+v, %v", on, err)
	}
	if err := g.life.Close(); err != nil {
		t.Error(err)
	}
	wantAborted(t, g, dir, pid)
	if on, err := swapOn(dir); err != nil || len(on) != 0 {
		t.Errorf("the guard left %+v on, %v", on, err)
	}
	m.do(t, "walk")
}
