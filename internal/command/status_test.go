// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/loopsetup"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// wellDevice returns a healthy device used as swap.
func wellDevice() swapdev.Device {
	const mib = 1 << 20
	return swapdev.Device{
		Dir:     "/run/zram",
		Loops:   []loopsetup.Info{{Path: "/dev/loop3", DirectIO: true, Autoclear: true, BlockSize: 4096, Size: 4096 * mib}},
		Swaps:   []loopsetup.Swap{{Path: "/dev/loop3", Size: 4096*mib - 4096, Used: 2400 * mib, Priority: 100}},
		SwapUse: swapdev.SwapUse{Slots: swapdev.SlotsProcess{PID: 44, Policy: ballast.Auto, Ballast: 100 * mib, Memory: 3 * mib}, Cached: 50 * mib, All: 2400 * mib},
		Block:   host.BlockTimes{Reads: 899_000, ReadTime: 28 * time.Second, Writes: 900_000, WriteTime: time.Minute}, // writes of another file too
		Status: &status.Status{
			Version: "1.0.0", PID: 42, KeeperPID: 42, WorkerPID: 43, SurvivesCrash: true, UptimeSeconds: 11520.5, Dir: "/run/zram", Name: "zram0",
			ProcessMemoryBytes: 20 * mib, Disksize: 4096 * mib, Algorithm: "adaptive", Streams: 4, Opens: 1,
			Memory: status.Memory{
				OrigDataSize: 2900 * mib, ComprDataSize: 962 * mib, MemUsedTotal: 1000 * mib, MemUsedMax: 1100 * mib,
				SamePages: 66816, HugePages: 14848, HugePagesSince: 20000, PagesStored: 742400,
			},
			Codecs: []status.Codec{
				{Name: "raw", Pages: 14848}, {Name: "lz4", Pages: 230144}, {Name: "zstd", Pages: 430592},
				{Name: "none", Pages: 0}, {Name: "same", Pages: 66816},
			},
			Instructions: status.Instructions{
				Detected: []string{"avx512", "avx2", "generic"}, Usable: []string{"avx2", "generic"},
				Codecs: []status.Implementation{{Name: "lz4", Set: "avx2"}},
			},
			Cold:    status.Cold{Share: 5, State: status.Waiting, AgeSeconds: 190, ReadRate: 0.0012, Pages: 41250, SavedBytes: 17 << 20, SpentSeconds: 0.8},
			Scrub:   status.Scrub{EverySeconds: 86400, State: status.Scrubbing, Ended: new(ago(3 * time.Hour)), Pages: 675584, DamagedPages: []uint64{}},
			Spill:   status.Spill{State: status.Off, Reason: "no backing device"},
			Latency: status.Latency{Policy: string(pmqos.Auto), State: status.Held, Holds: 7, HeldSeconds: 72.5, WakeUpUs: 46.2, WakeUpHeldUs: 5.9, LoneRequests: 90000},
			IO:      status.IO{Reads: 1000, Writes: 2000, Discards: 30},
			Operations: []status.Operation{
				{Op: "read", Requests: 901_000, Pages: 950_000, P50: 4_130, P90: 9_000, P99: 21_700, P999: 210_000, Max: 3_100_000, SecondsTotal: 4.5},
				{Op: "write", Requests: 310_000, Pages: 2_000_000, P50: 141_300, P99: 2_040_000, Max: 3_000_000, SecondsTotal: 50},
				{Op: "discard", Requests: 7, P50: 900, P99: 1000}, {Op: "flush"},
			},
			CPUSeconds: 71.25,
			LastMinute: status.Minute{Seconds: 61.5, In: status.Flow{Pages: 1240.4, Requests: 900, P50: 4_050, P99: 18_300}, Out: status.Flow{Pages: 0.02}},
			Fuse:       status.Fuse{Connection: 51, MaxWrite: mib, MaxBackground: 1024, AsyncDIO: true},
			Protections: []status.Protection{
				{Name: status.NameIOFlusher, State: status.Warn, Detail: "needs the capability CAP_SYS_RESOURCE"},
				{Name: status.NameMemory, State: status.OK, Detail: "all memory is locked", Essential: true},
			},
		},
	}
}

// testNow is the time of the answers.
var testNow = time.Date(2026, 11, 22, 12, 4, 30, 0, time.UTC)

// ago is a time before testNow.
func ago(d time.Duration) time.Time { return testNow.Add(-d) }

// sickDevice returns a device with every problem that can occur at once.
func sickDevice() swapdev.Device {
	d := wellDevice()
	d.Dir = "/mnt/b"
	d.Loops[0].DirectIO = false
	s := d.Status
	s.MemLimit = s.Memory.MemUsedTotal + 10<<20
	s.Fuse.AsyncDIO = false
	s.Scrub.Damaged, s.Scrub.DamagedPages = 2, []uint64{17, 4711}
	s.Cold = status.Cold{State: status.Off, Reason: "switched off", AgeSeconds: 21600}
	s.Latency = status.Latency{Policy: string(pmqos.Auto), State: status.Off, Reason: "no PM QoS request: open /dev/cpu_dma_latency: permission denied"}
	last := ago(3 * time.Second)
	s.Restarts, s.RestartsRecent, s.LastRestart, s.LastExit, s.SurvivesCrash = 1056, 5, &last, "killed by signal 9", false
	s.IO.ChecksumErrors, s.IO.FailedReads, s.IO.FailedWrites = 1, 2, 3
	s.IO.ChecksumErrorTimes = status.ErrorTimes{First: ago(time.Minute), Last: ago(time.Minute)}
	s.IO.FailedReadTimes = status.ErrorTimes{First: ago(26 * time.Hour), Last: ago(25 * time.Hour)}
	s.IO.FailedWriteTimes = status.ErrorTimes{First: ago(2 * time.Hour), Last: ago(time.Second)}
	s.Protections[1].State, s.Protections[1].Detail = status.Fail, "mlockall: operation not permitted"
	d.Swaps[0].Used, d.SwapUse.All = 3000<<20, 3000<<20
	d.SwapUse.Zswap = host.ZswapUse{Held: 512 << 20, Pool: 160 << 20, Loads: 57000, Stores: 140000, WrittenBack: 3800}
	return d
}

func TestStatusWords(t *testing.T) {
	idle := wellDevice()
	idle.Loops, idle.Swaps = nil, nil
	idle.Status.Memory, idle.Status.Codecs = status.Memory{}, nil
	idle.Status.UptimeSeconds = 3
	idle.Status.Scrub = status.Scrub{State: status.Off, DamagedPages: []uint64{}}
	idle.Status.Cold = status.Cold{Share: 5, State: status.Waiting, Reason: "programs wait for processors", AgeSeconds: 21600}
	idle.Status.Latency = status.Latency{Policy: string(pmqos.Auto), State: status.Ready, Reason: "processors wake up as fast without it", WakeUpUs: 4, WakeUpHeldUs: 3.5}
	hung := swapdev.Device{Dir: "/run/zram", Err: fmt.Errorf("/run/zram: %w", helper.ErrNoAnswer), Loops: wellDevice().Loops, Swaps: wellDevice().Swaps}
	unreadable := swapdev.Device{Dir: "/run/zram", Err: errors.New("read the status of /run/zram: permission denied")}
	tests := []struct {
		name  string
		found []swapdev.Device
	}{
		{"well", []swapdev.Device{wellDevice()}},
		{"sick", []swapdev.Device{sickDevice()}},
		{"idle", []swapdev.Device{idle}},
		{"hung", []swapdev.Device{hung}},
		{"unreadable", []swapdev.Device{unreadable}},
		{"several", []swapdev.Device{wellDevice(), idle}},
		{"devices", []swapdev.Device{severalLoops()}},
		{"none", nil},
	}
	for _, test := range tests {
		for _, form := range []string{"txt", "json"} {
			got := printedStatus(t, test.found, form == "json")
			compareGolden(t, filepath.Join("status", test.name+"."+form), got)
		}
	}
}

// printedStatus returns status's output for the devices.
func printedStatus(t *testing.T, found []swapdev.Device, asJSON bool) string {
	t.Helper()
	reports := make([]report, len(found))
	for i, d := range found {
		reports[i] = newReport(d, testNow)
	}
	var out strings.Builder
	app := newApp(&out, io.Discard)
	app.Command("status").Action = func(c *cli.Context) error { return printReports(c, reports, swapdev.ErrNotRunning.Error()) }
	args := []string{"zramfs", "status"}
	if asJSON {
		args = append(args, "-J")
	}
	if err := runApp(app, args); err != nil {
		t.Fatal(err)
	}
	if asJSON && !json.Valid([]byte(out.String())) {
		t.Errorf("not JSON: %s", out.String())
	}
	return out.String()
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (to write it: go test -run %s -update)", err, t.Name())
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestHealth(t *testing.T) {
	tests := []struct {
		name   string
		change func(*swapdev.Device)
		want   string // part of the only problem; empty for none
	}{
		{"well", func(*swapdev.Device) {}, ""},
		{"no loop", func(d *swapdev.Device) { d.Loops, d.Swaps = nil, nil }, ""},
		{"512-byte blocks", func(d *swapdev.Device) { d.Loops[0].BlockSize = 512 }, ""},
		{"buffered loop", func(d *swapdev.Device) { d.Loops[0].DirectIO = false }, "losetup --direct-io=on /dev/loop3"},
		{"damaged page", func(d *swapdev.Device) { d.Status.IO.ChecksumErrors = 1 }, "1 page was damaged"},
		{"failed read", func(d *swapdev.Device) { d.Status.IO.FailedReads = 2 }, "2 reads failed"},
		{"failed write", func(d *swapdev.Device) { d.Status.IO.FailedWrites = 3 }, "3 writes failed"},
		{"failed write long ago", func(d *swapdev.Device) {
			d.Status.IO.FailedWrites, d.Status.IO.FailedWriteTimes.Last = 3, ago(61*time.Minute)
		}, ""},
		{"failed write not long ago", func(d *swapdev.Device) {
			d.Status.IO.FailedWrites, d.Status.IO.FailedWriteTimes = 3, status.ErrorTimes{First: ago(59 * time.Minute), Last: ago(59 * time.Minute)}
		}, "3 writes failed (Nov 22 11:05:30)"},
		{"restarts long ago", func(d *swapdev.Device) { d.Status.Restarts, d.Status.RestartsRecent = 1056, 3 }, ""},
		{"restart storm", func(d *swapdev.Device) { d.Status.Restarts, d.Status.RestartsRecent = 1056, 4 }, "restarted 1056 times, 4 times within 10 minutes"},
		{"an area gone", func(d *swapdev.Device) {
			d.Record = &uprecord.Record{Loops: []uprecord.Loop{{Path: "/dev/loop3", Sequence: 1}, {Path: "/dev/loop4", Sequence: 2}, {Path: "/dev/loop5", Sequence: 3}}}
		},
			"2 of 3 swap areas off: /dev/loop4 /dev/loop5"},
		{"all areas there", func(d *swapdev.Device) {
			d.Record = &uprecord.Record{Loops: []uprecord.Loop{{Path: "/dev/loop3", Sequence: 1}}}
		}, ""},
		{"swap off", func(d *swapdev.Device) {
			d.Record, d.Swaps = &uprecord.Record{Loops: []uprecord.Loop{{Path: "/dev/loop3", Sequence: 1}}}, nil
		}, ""},
		{"swap nearly full", func(d *swapdev.Device) { d.Swaps[0].Used = d.Swaps[0].Size/100*91 + d.SwapUse.Slots.Ballast }, "91% of its swap is used"},
		{"swap not full", func(d *swapdev.Device) { d.Swaps[0].Used = d.Swaps[0].Size / 100 * 89 }, ""},
		{"elsewhere", func(d *swapdev.Device) { d.Elsewhere, d.Keeper = true, 7 },
			"up in another mount namespace (keeper 7, /dev/loop3, 2.2G in swap); fix: zramfs down /run/zram ends it"},
		{"elsewhere, unreadable", func(d *swapdev.Device) { d.Elsewhere, d.Status, d.Err = true, nil, swapdev.ErrOutOfSight }, "in another mount namespace (/dev/loop3"},
		{"missing extra", func(d *swapdev.Device) { d.Status.Protections[0].State = status.Fail }, ""},
		{"missing essential", func(d *swapdev.Device) { d.Status.Protections[1].State = status.Fail }, "not safe as swap: memory-lock"},
		{"missing essential, no swap", func(d *swapdev.Device) { d.Status.Protections[1].State, d.Swaps = status.Fail, nil }, ""},
		{"limit far", func(d *swapdev.Device) { d.Status.MemLimit = 2 * d.Status.Memory.MemUsedTotal }, ""},
		{"limit near", func(d *swapdev.Device) { d.Status.MemLimit = d.Status.Memory.MemUsedTotal/9*10 - 4096 }, "90% of the memory limit"},
		{"limit reached", func(d *swapdev.Device) { d.Status.MemLimit = d.Status.Memory.MemUsedTotal }, "100% of the memory limit"},
		{"dead", func(d *swapdev.Device) { d.Status, d.Err = nil, swapdev.ErrDead },
			"/dev/loop3 is still swap and no process serves it: 2.2G are lost; fix: zramfs down --force /run/zram"},
		{"hung", func(d *swapdev.Device) { d.Status, d.Err = nil, helper.ErrNoAnswer }, "zramfs has not answered for 1 s"},
		{"stopped", func(d *swapdev.Device) {
			d.Status, d.Err = nil, &swapdev.Silence{Servers: swapdev.Servers{Worker: host.Process{PID: 1234, State: 'T'}}, Dir: d.Dir}
		}, "PID 1234 has not answered for 1 s (state T, stopped); fix: kill -CONT 1234, or see dmesg"},
		{"unreadable", func(d *swapdev.Device) { d.Status, d.Err = nil, os.ErrPermission }, "permission denied"},
	}
	for _, test := range tests {
		d := wellDevice()
		test.change(&d)
		r := newReport(d, testNow)
		code, health := exitOK, "healthy"
		if test.want != "" {
			code, health = exitFailure, "degraded"
		}
		if r.Health != health || healthCode([]report{newReport(wellDevice(), testNow), r}) != code {
			t.Errorf("%s: %s, want %s", test.name, r.Health, health)
		}
		if test.want == "" && len(r.Problems) != 0 || test.want != "" && len(r.Problems) != 1 {
			t.Errorf("%s: problems %v, want %q", test.name, r.Problems, test.want)
		}
		if len(r.Problems) == 1 && !strings.Contains(r.Problems[0].String(), test.want) {
			t.Errorf("%s: %s, want %s", test.name, r.Problems[0], test.want)
		}
	}
	if code := healthCode(nil); code != exitNotRunning {
		t.Errorf("no device: code %d, want %d", code, exitNotRunning)
	}
}
