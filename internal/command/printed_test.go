// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/journal"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// zramctl's own words need no device.
func TestZramctlHelpAndVersion(t *testing.T) {
	for arg, want := range map[string]string{"--help": "IN-SWAP", "--version": "zramctl from zramfs " + zramfsd.Version(release) + "\n"} {
		var out, failed strings.Builder
		if code := runZramctl([]string{"zramctl", arg}, &out, &failed); code != exitOK || !strings.Contains(out.String(), want) || failed.String() != "" {
			t.Errorf("%s: %d, %q, %q", arg, code, out.String(), failed.String())
		}
		if code := runZramctl([]string{"zramctl", arg}, failing{errors.New("no space")}, &failed); code != exitFailure || !strings.Contains(failed.String(), "no space") {
			t.Errorf("%s on a full disk: %d, %q", arg, code, failed.String())
		}
	}
}

// A device's use is where it is mounted, or swap, and for swap whether this command can reach it.
func TestUseColumn(t *testing.T) {
	swap := wellDevice()
	dead, away := swap, swap
	dead.Err, away.Elsewhere = swapdev.ErrDead, true
	for _, c := range []struct {
		d    swapdev.Device
		want any
	}{
		{swap, swapMountpoint}, {dead, swapDead}, {away, swapElsewhere}, {swapdev.Device{Mountpoint: "/mnt"}, "/mnt"}, {swapdev.Device{}, nil},
	} {
		if got := useOf(c.d); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	for _, column := range swapColumns {
		if v := column.value(swapdev.Device{}); v != nil {
			t.Errorf("%s of what is no swap is %v", column.Name, v)
		}
		if v := column.value(swap); v == nil {
			t.Errorf("%s has no value", column.Name)
		}
	}
}

// Lines of events and operations come one after the other, until one cannot be written.
func TestPrintedLines(t *testing.T) {
	full := errors.New("no space")
	for _, asJSON := range []bool{false, true} {
		var out strings.Builder
		if err := printEvents(&out, asJSON, make([]journal.Event, 2)); err != nil || strings.Count(out.String(), "\n") != 2 || strings.Contains(out.String(), `"schema"`) != asJSON {
			t.Errorf("JSON %v: %q, %v", asJSON, out.String(), err)
		}
		if err := printEvents(failing{full}, asJSON, make([]journal.Event, 2)); !errors.Is(err, full) {
			t.Errorf("JSON %v: events on a full disk: %v", asJSON, err)
		}
		if err := printTrace(failing{full}, asJSON, make([]journal.Operation, 2), 1); !errors.Is(err, full) {
			t.Errorf("JSON %v: operations on a full disk: %v", asJSON, err)
		}
	}
	if err := printTrace(failing{full}, false, nil, 1); !errors.Is(err, full) {
		t.Errorf("what is lost on a full disk: %v", err)
	}
}

// An interrupted command ends soon, whether its work does or not, and says that it was interrupted.
func TestObey(t *testing.T) {
	other := errors.New("another")
	ended, end := context.WithCancel(t.Context())
	end()
	never := make(chan error)
	for _, c := range []struct {
		name string
		ctx  context.Context
		f    func() error
		want error
	}{
		{"done", t.Context(), func() error { return nil }, nil},
		{"failed", t.Context(), func() error { return other }, other},
		{"cancelled by itself", t.Context(), func() error { return context.Canceled }, context.Canceled},
		{"interrupted", ended, func() error { return context.Canceled }, imageio.ErrInterrupted},
		{"interrupted, and failed", ended, func() error { return other }, other},
		{"interrupted in vain", ended, func() error { return <-never }, imageio.ErrInterrupted},
	} {
		if got := obey(c.ctx, c.f); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
