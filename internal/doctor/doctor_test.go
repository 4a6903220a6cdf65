// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/tune"
)

// wellMachine is the files of a machine on which every check is well.
func wellMachine() map[string]string {
	return map[string]string{
		"dev/fuse":                                     "",
		"dev/loop-control":                             "",
		"dev/kmsg":                                     "",
		"dev/cpu_dma_latency":                          "",
		"proc/cmdline":                                 "quiet\n",
		"proc/swaps":                                   "Filename Type Size Used Priority\n/dev/sda2 partition 2097148 0 -2\n",
		"sys/block/sda/size":                           "0\n",
		"proc/meminfo":                                 "MemTotal:       8388608 kB\nMemFree:        1 kB\n",
		"proc/self/limits":                             "Limit   Soft Limit   Hard Limit   Units\nMax locked memory         8388608              8388608              bytes     \n",
		"proc/self/status":                             "Name:\tzramfs\nCapEff:\t000001ffffffffff\n",
		"proc/self/uid_map":                            "         0          0 4294967295\n",
		"proc/sys/kernel/osrelease":                    "6.14.0-31-generic\n",
		"proc/self/cgroup":                             "0::/user.slice\n",
		"proc/self/mountinfo":                          "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/cgroup.controllers":             "cpu memory\n",
		"sys/fs/cgroup/user.slice/memory.swap.max":     "max\n",
		"sys/fs/cgroup/user.slice/memory.min":          "0\n",
		"proc/sys/vm/min_free_kbytes":                  "67584\n",
		"proc/sys/vm/page-cluster":                     strconv.Itoa(tune.PageCluster) + "\n",
		"proc/sys/vm/watermark_scale_factor":           "125\n",
		"sys/module/zswap/parameters/enabled":          "N\n",
		"sys/module/zswap/parameters/max_pool_percent": "20\n",
		"sys/module/zswap/parameters/compressor":       "lzo\n",
	}
}

// machineOf puts files below a directory and returns the machine that is there.
func machineOf(t *testing.T, files map[string]string) Machine {
	t.Helper()
	m := Machine{
		Priority: 100, LastPriority: 85,
		Root:        host.Root(t.TempDir()),
		protections: func() []status.Protection { return nil },
		noswap:      func() error { return nil },
		instructions: func() status.Instructions {
			return status.Instructions{
				Detected: []string{"avx512", "avx2", "generic"}, Usable: []string{"avx512", "avx2", "generic"},
				Codecs: []status.Implementation{{Name: "lz4", Set: "avx512"}, {Name: "lz4:fast", Set: "avx2"}},
			}
		},
	}
	if err := errors.Join(os.MkdirAll(m.Path("proc/self/ns"), 0o755), os.Symlink("pid:[4026531836]", m.Path("proc/self/ns/pid"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := m.Path(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestDoctorWellMachine(t *testing.T) {
	m := machineOf(t, wellMachine())
	m.protections = func() []status.Protection {
		return []status.Protection{{Name: status.NameCgroup, State: status.OK, Detail: "no limit"}}
	}
	out := Diagnose(m).Text()
	want, err := os.ReadFile("testdata/well.txt")
	if err != nil || out != string(want) {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "ok    ") && line != "Result: zramfs up would work here\n" {
			t.Errorf("not well: %s", line)
		}
	}
}

// TestDoctorFindings changes one file of the well machine and wants one check to notice, with a
// fix.
func TestDoctorFindings(t *testing.T) {
	const missing = "\x00missing"
	const noCaps = "CapEff:\t0000000000000000\n"
	without := func(bit host.Capability) string { return fmt.Sprintf("CapEff:\t%016x\n", (uint64(1)<<41-1)&^(1<<bit)) }
	tests := []struct {
		file, text string
		name       string // of the check
		state      status.State
		detail     string
	}{
		{"proc/sys/kernel/osrelease", "4.3.0", "kernel", status.Fail, "Linux 4.3.0"},
		{"proc/sys/kernel/osrelease", "3.10.0-1160.el7", "kernel", status.Fail, "3.10.0"},
		{"proc/sys/kernel/osrelease", "4.19.0", "kernel", status.Warn, "no IO_FLUSHER"},
		{"proc/sys/kernel/osrelease", "5.10.0", "kernel", status.Warn, "lacks noswap"},
		{"proc/sys/kernel/osrelease", "6.4.0", "kernel", status.OK, ""},
		{"proc/sys/kernel/osrelease", "banana", "kernel", status.Warn, "cannot tell"},
		{"dev/fuse", missing, "fuse", status.Fail, "/dev/fuse is missing"},
		{"dev/loop-control", missing, "loop", status.Fail, "/dev/loop-control is missing"},
		{"proc/self/uid_map", "0 1000 1\n", "user-namespace", status.Fail, "this is a user namespace"},
		{"proc/self/uid_map", missing, "user-namespace", status.OK, ""},
		{"proc/self/status", without(host.CapSysAdmin), "cap-sys-admin", status.Fail, "not allowed"},
		{"proc/self/status", without(host.CapSysResource), "cap-sys-resource", status.Warn, "the OOM killer may kill zramfs"},
		{"proc/self/status", without(host.CapSysNice), "cap-sys-nice", status.Warn, "real-time"},
		{"proc/self/status", without(host.CapIPCLock), "cap-ipc-lock", status.Fail, "RLIMIT_MEMLOCK"},
		{"proc/self/status", without(host.CapIPCLock), "memlock-limit", status.Fail, "8M"},
		{"proc/self/status", noCaps, "cap-sys-admin", status.Fail, "not allowed"},
		{"proc/self/status", "Name:\tx\n", "cap-sys-admin", status.Warn, "cannot tell"},
		{"proc/self/limits", "Max locked memory  unlimited  unlimited  bytes\n", "memlock-limit", status.OK, "unlimited"},
		{"sys/module/zswap/parameters/enabled", "Y\n", "zswap", status.OK, "it keeps hot pages, up to 20% of RAM, by lzo"},
		{"sys/module/zswap/parameters/zpool", "zbud\n", "zswap", status.OK, "its allocator is zbud"},
		{"sys/module/zswap/parameters/enabled", missing, "zswap", status.OK, "the kernel has none"},
		{"dev/kmsg", missing, "log", status.Warn, "messages are lost"},
		{"run/systemd/journal/socket", "", "log", status.OK, "journal"},
		{"dev/cpu_dma_latency", missing, "latency", status.Warn, "a page fault takes twice as long or more"},
		{"proc/sys/vm/page-cluster", "0\n", "kernel-parameters", status.OK, "all are"}, // up sets it where zswap is in front
		{"proc/sys/vm/page-cluster", missing, "kernel-parameters", status.OK, "all are"},
		{"proc/sys/vm/swappiness/directory", "", "kernel-parameters", status.Warn, "cannot tell"},
		{"proc/sys/vm/swappiness", "60\n", "kernel-parameters", status.Warn, "--tune recommended would change vm.swappiness 60 -> 133"},
		{"proc/sys/vm/swappiness", "200\n", "kernel-parameters", status.OK, "all are"},
		{"sys/fs/cgroup/user.slice/memory.swap.max", missing, "cgroup-v2", status.OK, "to set"},
		{"sys/fs/cgroup/user.slice/memory.swap.max", "0\n", "cgroup-v2", status.OK, "has memory.swap.max 0, memory.min 0"},
		{"proc/self/mountinfo", "41 31 0:38 / /m rw - cgroup cgroup rw,memory\n", "cgroup-v2", status.OK, "counted by cgroup v1"},
		{"proc/self/mountinfo", missing, "cgroup-v2", status.OK, "no memory controller"},
		{"proc/self/cgroup", "4:memory:/\n", "cgroup-v2", status.Warn, "cannot tell"},
		{"proc/meminfo", "MemTotal: 262144 kB\n", "free-memory", status.OK, ""},
		{"proc/meminfo", missing, "free-memory", status.Warn, "cannot tell"},
		{"sys/class/zram-control/hot_add", "", "kernel-zram", status.Warn, "kernel zram is here"},
		{"lib/modules/6.14.0-31-generic/modules.dep", "kernel/drivers/block/zram/zram.ko.xz: x\n", "kernel-zram", status.Warn, "can be loaded"},
		{"lib/modules/6.14.0-31-generic/modules.builtin", "kernel/drivers/block/zram/zram.ko\n", "kernel-zram", status.Warn, "can be loaded"},
		{"lib/modules/6.14.0-31-generic/modules.dep", "kernel/fs/fuse/fuse.ko: x\n", "kernel-zram", status.OK, "neither loaded"},
		{"sys/block/sda/size", missing, "sys", status.Fail, "/sys is not mounted"},
		{"proc/swaps", missing, "other-swap", status.Fail, "without swap"},
		{"proc/swaps", "Filename\n", "other-swap", status.OK, "no other swap area"},
		{"proc/swaps", "Filename\n/dev/sda2 partition 2097148 0 100\n", "other-swap", status.Warn, "/dev/sda2 (2G, priority 100)"},
		{"proc/mdstat", "", "other-swap", status.OK, "/dev/sda2 (2G, priority -2): used after"},
	}
	for _, test := range tests {
		files := wellMachine()
		files[test.file] = test.text
		if test.text == missing {
			delete(files, test.file)
		}
		f := findingNamed(t, machineOf(t, files).findings(), test.name)
		if f.State != test.state || !strings.Contains(f.Detail, test.detail) {
			t.Errorf("%s %q: %s; want %s: %s", test.file, test.text, f, test.state, test.detail)
		}
		if wantFix := f.State != status.OK && !strings.HasPrefix(f.Detail, "cannot tell"); (f.Fix != "") != wantFix {
			t.Errorf("%s %q: %s: fix %q", test.file, test.text, f, f.Fix)
		}
	}
}

// TestDoctorHaltPoll: the parameter of the kernel's own polling is wanted where no PM QoS request
// can be made, and only there.
func TestDoctorHaltPoll(t *testing.T) {
	for device, want := range map[bool]status.State{true: status.OK, false: status.Warn} {
		files := wellMachine()
		files[string(tune.HaltPoll)] = "0\n"
		if !device {
			delete(files, "dev/cpu_dma_latency")
		}
		f := findingNamed(t, machineOf(t, files).findings(), "kernel-parameters")
		if f.State != want || strings.Contains(f.Detail, "guest_halt_poll_ns 0 -> 200000") != !device {
			t.Errorf("with the device %v: %s", device, f)
		}
	}
}

// TestDoctorModulesBarred wants no advice to load what the kernel does not load.
func TestDoctorModulesBarred(t *testing.T) {
	for _, bar := range [][2]string{{"proc/cmdline", "ro nomodule quiet\n"}, {"proc/sys/kernel/modules_disabled", "1\n"}} {
		files := wellMachine()
		files["lib/modules/6.14.0-31-generic/modules.dep"] = "kernel/drivers/block/zram/zram.ko: x\n"
		files[bar[0]] = bar[1]
		if f := findingNamed(t, machineOf(t, files).findings(), "kernel-zram"); f.State != status.OK || !strings.Contains(f.Detail, "cannot be loaded") {
			t.Errorf("%s: %s", bar[0], f)
		}
	}
}

// TestDoctorOwnSwap wants a device of ours to be no reason for another priority.
func TestDoctorOwnSwap(t *testing.T) {
	files := wellMachine()
	files["proc/swaps"] = "Filename\n/dev/loop3 partition 2097148 0 100\n"
	files["sys/block/loop3/loop/backing_file"] = "/zram0\n"
	if f := findingNamed(t, machineOf(t, files).findings(), "other-swap"); f.State != status.OK {
		t.Error(f)
	}
}

// TestDiagnosis wants failures first, warnings next, and a verdict that counts them.
func TestDiagnosis(t *testing.T) {
	good, lost := Finding{"fuse", status.OK, "there", ""}, Finding{"loop", status.Fail, "no loop driver", "modprobe loop"}
	bare, bare2 := Finding{"cap-sys-nice", status.Warn, "no nice", "x"}, Finding{"noswap", status.Warn, "no noswap", "x"}
	slow := Finding{"kernel-parameters", status.Warn, "0", "x"}
	for _, test := range []struct {
		findings []Finding
		first    string
		want     string
	}{
		{[]Finding{good}, "fuse", "zramfs up would work here"},
		{[]Finding{good, bare, slow, bare2}, "cap-sys-nice", "zramfs up would work here; 2 protections are missing, 1 setting could be better (see warn)"},
		{[]Finding{good, slow}, "kernel-parameters", "zramfs up would work here; 1 setting could be better (see warn)"},
		{[]Finding{good, bare, lost}, "loop", "zramfs up would not work here: no loop driver"},
	} {
		d := newDiagnosis(test.findings)
		if d.Result != test.want || d.Checks[0].Name != test.first || d.Checks[len(d.Checks)-1].Name != "fuse" || d.Works != (test.first != "loop") {
			t.Errorf("%+v, want %q", d, test.want)
		}
		if text := d.Text(); !strings.HasSuffix(text, "\nResult: "+test.want+"\n") {
			t.Errorf("it prints %q", text)
		}
	}
}

// TestCanSwap wants the reason that bars swap named, and nothing of the loop driver
// or of root.
func TestCanSwap(t *testing.T) {
	files := wellMachine()
	if err := CanSwap(machineOf(t, files).Root); err != nil {
		t.Error(err)
	}
	files["proc/self/uid_map"] = "0 1000 1\n"
	if err := CanSwap(machineOf(t, files).Root); err == nil || !strings.Contains(err.Error(), "user namespace") || strings.Contains(err.Error(), "run as root") {
		t.Error(err)
	}
	m := machineOf(t, nil)
	if err := CanSwap(m.Root); err == nil || err.Error() != "/sys is not mounted: mount it, or pass it into the container" {
		t.Error(err)
	}
}

func findingNamed(t *testing.T, findings []Finding, name string) Finding {
	t.Helper()
	for _, f := range findings {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no check is named %s", name)
	return Finding{}
}

func TestDoctorGroupOfItsOwn(t *testing.T) {
	files := wellMachine()
	files["sys/fs/cgroup/user.slice/memory.swap.max"] = "0\n"
	files["sys/fs/cgroup/user.slice/memory.min"] = "1073741824\n"
	if f := findingNamed(t, machineOf(t, files).findings(), "cgroup-v2"); !strings.Contains(f.Detail, "kept out of swap") {
		t.Errorf("%s", f)
	}
}

func TestDoctorWatermarks(t *testing.T) {
	files := wellMachine()
	files["proc/sys/vm/min_free_kbytes"] = "4096\n"
	files["proc/sys/vm/watermark_scale_factor"] = "10\n"
	if f := findingNamed(t, machineOf(t, files).findings(), "free-memory"); f.State != status.Warn || !strings.Contains(f.Detail, "4M free") || f.Fix == "" {
		t.Errorf("%s; want a warning of 4M", f)
	}
	files["proc/sys/vm/watermark_scale_factor"] = "100\n"
	if f := findingNamed(t, machineOf(t, files).findings(), "free-memory"); f.State != status.OK {
		t.Errorf("%s; want ok, since the watermarks are far apart", f)
	}
}

func TestDoctorNoswap(t *testing.T) {
	for _, test := range []struct {
		err    error
		state  status.State
		detail string
	}{
		{nil, status.OK, "never swapped"},
		{errors.New("set noswap: invalid argument"), status.Warn, "invalid argument"},
		{fmt.Errorf("fsopen tmpfs: %w", fs.ErrPermission), status.Warn, "cannot tell: fsopen tmpfs: permission denied (run as root)"},
	} {
		m := machineOf(t, wellMachine())
		m.noswap = func() error { return test.err }
		if f := findingNamed(t, m.findings(), "noswap"); f.State != test.state || !strings.Contains(f.Detail, test.detail) {
			t.Errorf("%v: %s; want %s: %s", test.err, f, test.state, test.detail)
		}
	}
}

func TestDoctorInstructions(t *testing.T) {
	m := machineOf(t, wellMachine())
	m.instructions = func() status.Instructions {
		return status.Instructions{
			Detected: []string{"avx512", "avx2", "generic"}, Usable: []string{"generic"},
			Codecs: []status.Implementation{{Name: "lz4", Set: "generic"}, {Name: "page", Set: "generic"}},
		}
	}
	f := findingNamed(t, m.findings(), "instruction-sets")
	const want = "warn  instruction-sets: the codecs may use generic; ZRAMFS_DISABLE switches off avx512, avx2; fix: unset ZRAMFS_DISABLE"
	if f.String() != want {
		t.Errorf("%s, want %s", f, want)
	}
	if f := findingNamed(t, m.findings(), "codecs"); f.String() != "ok    codecs: lz4 by generic, page by generic" {
		t.Errorf("%s", f)
	}
}
