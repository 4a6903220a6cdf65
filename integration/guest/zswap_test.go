// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// A program of these tests takes heldMiB of memory, which are heldPages, in a group that may have
// groupMax: at any time most of its pages are in swap.
const (
	heldMiB   = 48
	heldPages = heldMiB << 20 >> 12
	groupMax  = "memory.max=16M"
)

// lag is how many pages the kernel's counters of a group, and of a process, may be off: it adds up
// those of each processor when they are MEMCG_CHARGE_BATCH pages.
const lag = 64

const zswapParameters = "/sys/module/zswap/parameters/"

// startZswap boots a machine with cgroup v2 whose kernel has zswap in front of a device. It has no
// lz4, so that up takes the second compressor.
func startZswap(t *testing.T, memory int, share string) *system {
	t.Helper()
	s := bootWithPrograms(t, Config{Memory: memory, Source: require.ZswapGuest(t), Modules: []string{"loop", "fuse"}})
	s.Must(commandTime, "mkdir -p /sys/fs/cgroup; mount -t cgroup2 cgroup /sys/fs/cgroup; echo +memory >/sys/fs/cgroup/cgroup.subtree_control")
	up := s.Must(commandTime, "zramfs up --size 256M --devices 2 --slots keep --zswap "+share+" "+systemDir)
	if want := "up to " + share + " of RAM, by lzo-rle;"; !strings.Contains(up, want) {
		t.Errorf("up prints %q, want %q in it", up, want)
	}
	return s
}

// bootWithPrograms boots a machine that has zramfs.
func bootWithPrograms(t *testing.T, c Config) *system {
	t.Helper()
	if os.Getenv("ZRAMFS_BINARY") == "" {
		t.Skip("no ZRAMFS_BINARY: make test-guest sets it, and make test-others")
	}
	c.Files = withPrograms(nil)
	s := &system{t: t, config: c, Machine: Start(t, c)}
	s.Must(commandTime, "mkdir "+systemDir)
	return s
}

// A holder is the program hold of the agent in a group of its name.
type holder struct {
	s    *system
	name string
	pid  int
	done int // lines that it has printed
}

// A walk is what a holder has found when it read its pages.
type walk struct{ right, wrong, lost, zswap, device int }

// hold makes a group and starts a program in it, which returns once all its pages are written.
func (s *system) hold(name string, settings ...string) *holder {
	s.t.Helper()
	s.group(name, settings...)
	h := &holder{s: s, name: name}
	text := s.Must(commandTime, fmt.Sprintf("sh -c 'echo $$ >/sys/fs/cgroup/%s/cgroup.procs; exec /run/guest-agent hold %d' >/run/%[1]s.log 2>&1 & echo $!", name, heldMiB))
	var err error
	if h.pid, err = strconv.Atoi(text); err != nil {
		s.t.Fatal(err)
	}
	if got := h.line(); got != "written" {
		s.t.Fatalf("the program in %s prints %q", name, got)
	}
	return h
}

// line waits for the next line that the program prints.
func (h *holder) line() string {
	h.s.t.Helper()
	h.done++
	return h.s.Must(commandTime, fmt.Sprintf("while [ $(wc -l </run/%s.log) -lt %d ] && kill -0 %d; do sleep 0.1; done; sed -n %[2]dp /run/%[1]s.log", h.name, h.done, h.pid))
}

func (h *holder) begin() { h.s.Must(commandTime, fmt.Sprintf("kill -USR1 %d", h.pid)) }

// end waits for the walk that begin has begun.
func (h *holder) end() (w walk) {
	h.s.t.Helper()
	text := h.line()
	if _, err := fmt.Sscanf(text, "%d right, %d wrong, %d lost; %d from zswap, %d from devices", &w.right, &w.wrong, &w.lost, &w.zswap, &w.device); err != nil {
		h.s.t.Fatalf("the program in %s prints %q: %v", h.name, text, err)
	}
	h.s.t.Logf("%s: %s", h.name, text)
	return w
}

// walk has the program read all its pages, which must be as they were written.
func (h *holder) walk() walk {
	h.s.t.Helper()
	h.begin()
	w := h.end()
	if w.right != heldPages {
		h.s.t.Errorf("of %d pages in %s: %+v", heldPages, h.name, w)
	}
	return w
}

// numbers reads a file whose lines are a name and a number.
func (s *system) numbers(path string) map[string]int {
	s.t.Helper()
	all := map[string]int{}
	for line := range strings.Lines(s.Must(commandTime, "cat "+path)) {
		var name string
		var n int
		if _, err := fmt.Sscan(line, &name, &n); err == nil {
			all[strings.TrimSuffix(name, ":")] = n
		}
	}
	return all
}

func (h *holder) stat() map[string]int {
	return h.s.numbers("/sys/fs/cgroup/" + h.name + "/memory.stat")
}

// A tierUse is what the tiers hold, in bytes, and how many pages have gone where.
type tierUse struct {
	zswapped, pool, stored, taken int
	out, in, back, toDevice       int
}

func (s *system) tiers() (u tierUse) {
	s.t.Helper()
	var all struct {
		Zramfs []struct {
			Memory struct{ Taken int }
			Status struct {
				Memory struct {
					Stored int `json:"orig_data_size"`
				}
			}
		}
	}
	text := s.Must(commandTime, "zramfs status --json "+systemDir)
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all.Zramfs) != 1 {
		s.t.Fatalf("status: %v\n%s", err, text)
	}
	u.taken, u.stored = all.Zramfs[0].Memory.Taken, all.Zramfs[0].Status.Memory.Stored
	memory, vm := s.numbers("/proc/meminfo"), s.numbers("/proc/vmstat")
	u.pool, u.zswapped = memory["Zswap"]<<10, memory["Zswapped"]<<10
	u.out, u.in, u.back, u.toDevice = vm["zswpout"], vm["zswpin"], vm["zswpwb"], vm["pswpout"]
	s.t.Logf("in zswap %d MiB as %d MiB, in the device %d MiB as %d MiB with its processes; pages to zswap %d, from zswap %d, written back %d, to the device %d",
		u.zswapped>>20, u.pool>>20, u.stored>>20, u.taken>>20, u.out, u.in, u.back, u.toDevice)
	return u
}

// In a group of cgroup v2 the compressed pages are charged to the group, so that zswap's shrinker
// writes back the oldest; both tiers answer faults, with the right page, and the group's counters
// are those of the machine.
func TestZswapGroup(t *testing.T) {
	s := startZswap(t, 384, "30%")
	h := s.hold("work", groupMax)
	for range 2 {
		if w := h.walk(); w.zswap == 0 || w.device == 0 {
			t.Errorf("one of the tiers has answered no fault: %+v", w)
		}
	}
	u, group := s.tiers(), h.stat()
	group["zswapped"] >>= 12 // pages as the others
	if u.back == 0 || u.stored < 4096*u.back/10 || u.zswapped == 0 || u.pool >= u.zswapped || u.toDevice < u.back {
		t.Errorf("the tiers: %+v", u)
	}
	for name, n := range map[string]int{"zswpout": u.out, "zswpin": u.in, "zswpwb": u.back, "zswapped": u.zswapped >> 12} {
		if off := group[name] - n; off < -lag || off > lag {
			t.Errorf("the group has %s %d, the machine %d", name, group[name], n)
		}
	}
	s.Must(commandTime, fmt.Sprintf("kill %d; zramfs down %s", h.pid, systemDir))
	if got := s.Must(commandTime, "cd "+zswapParameters+"; cat enabled compressor max_pool_percent accept_threshold_percent shrinker_enabled"); got != "N\nlzo\n20\n90\nN" {
		t.Errorf("after down the parameters of zswap are %q", got)
	}
}

// With a full pool, pages go to the device at once, and all of them are right.
func TestZswapFull(t *testing.T) {
	s := startZswap(t, 256, "1%")
	h := s.hold("work", groupMax)
	for range 2 {
		if w := h.walk(); w.zswap == 0 || w.device < heldPages/2 {
			t.Errorf("so many faults of %d pages: %+v", heldPages, w)
		}
	}
	if u := s.tiers(); u.pool == 0 || u.pool > 4<<20 || u.toDevice <= u.back {
		t.Errorf("the tiers: %+v", u)
	}
}

// A worker may die while zswap writes back.
func TestZswapWorkerDies(t *testing.T) {
	s := startZswap(t, 384, "30%")
	h := s.hold("work", groupMax, "memory.zswap.max=4M") // above which it writes back the oldest pages
	before := statusOf(t, s.Machine, systemDir)
	for range 3 {
		back := s.numbers("/proc/vmstat")["zswpwb"]
		h.begin()
		s.Must(commandTime, fmt.Sprintf("for i in $(seq 600); do awk '$1 == \"zswpwb\" { exit $2 <= %d }' /proc/vmstat && break; sleep 0.05; done; kill -9 %d",
			back, before.Worker))
		killed := s.numbers("/proc/vmstat")["zswpwb"]
		if w := h.end(); w.right != heldPages {
			t.Errorf("of %d pages: %+v", heldPages, w)
		}
		after, now := s.numbers("/proc/vmstat")["zswpwb"], statusOf(t, s.Machine, systemDir)
		t.Logf("written back: %d pages before the worker was killed, %d later", killed-back, after-killed)
		if killed == back || after == killed || now.Worker == before.Worker || now.Keeper != before.Keeper {
			t.Errorf("worker %d was killed between %d, %d and %d pages written back; now %d serves", before.Worker, back, killed, after, now.Worker)
		}
		before = now
	}
	s.Must(commandTime, "zramfs verify "+systemDir)
}

// Where keeper and worker both die, the pages in zswap live. Those on the device are lost, and a
// program that reads one gets SIGBUS.
func TestZswapBothDie(t *testing.T) {
	s := startZswap(t, 384, "30%")
	// Above its limit the group's oldest pages are written back, and no others.
	s.Must(commandTime, "echo N >"+zswapParameters+"shrinker_enabled")
	h := s.hold("work", groupMax, "memory.zswap.max=5M")
	h.walk()
	device := statusOf(t, s.Machine, systemDir)
	s.tiers()
	// The kernel swaps out no page of the group from here on.
	s.Must(commandTime, "sync; echo max >/sys/fs/cgroup/work/memory.max")
	inZswap, cached := s.numbers("/proc/meminfo")["Zswapped"]>>2, h.stat()["swapcached"]>>12
	swapped := s.numbers(fmt.Sprintf("/proc/%d/status", h.pid))["VmSwap"] >> 2
	s.Must(commandTime, fmt.Sprintf("kill -9 %d %d", device.Keeper, device.Worker))
	h.begin()
	w := h.end()
	t.Logf("of %d pages %d were swapped: %d in zswap, %d of all in memory as well", heldPages, swapped, inZswap, cached)
	if most := swapped - inZswap; w.wrong != 0 || w.zswap < inZswap-lag || w.right+w.lost != heldPages || w.lost > most+lag || w.lost < most-cached-lag || w.lost < heldPages/10 || w.zswap < heldPages/10 {
		t.Errorf("want up to %d pages lost: %+v", most, w)
	}
}

// Without zswap in the kernel, --zswap auto changes nothing, and on is refused.
func TestZswapAbsent(t *testing.T) {
	s := bootWithPrograms(t, Config{Memory: 192, Source: require.Guest(t), Modules: []string{"loop", "fuse"}})
	s.wantRefused("Linux 6.1")
}

// Parameters that cannot be written, as in a container whose /sys is read-only, are as no zswap.
func TestZswapReadOnly(t *testing.T) {
	s := bootWithPrograms(t, Config{Memory: 192, Source: require.ZswapGuest(t), Modules: []string{"loop", "fuse"}})
	s.Must(commandTime, "mount -o remount,bind,ro /sys")
	s.wantRefused("it is off, and " + zswapParameters + "enabled is on a read-only mount")
	// A file that can be opened and not written is as a kernel that refuses.
	s.Must(commandTime, "mount -o remount,bind,rw /sys; mount --bind /proc/version "+zswapParameters+"enabled")
	r := s.Run(commandTime, "zramfs up --size 64M --zswap on "+systemDir+" 2>&1")
	if r.Code != 1 || !strings.Contains(r.Output, "zswap cannot hold the hot pages here: the kernel does not turn it on") {
		t.Errorf("up --zswap on ends with %d: %s", r.Code, r.Output)
	}
	if got := s.Must(commandTime, "wc -l </proc/swaps; umount "+zswapParameters+"enabled; cd "+zswapParameters+"; cat enabled max_pool_percent shrinker_enabled"); got != "1\nN\n20\nN" {
		t.Errorf("swap areas and parameters of zswap are %q", got)
	}
}

// wantRefused fails the test unless up refuses --zswap on with the message, and comes up without a
// word of zswap with auto.
func (s *system) wantRefused(message string) {
	s.t.Helper()
	r := s.Run(commandTime, "zramfs up --size 64M --zswap on "+systemDir+" 2>&1")
	if r.Code != 1 || !strings.HasPrefix(r.Output, "zramfs: zswap cannot hold the hot pages here: "+message) || strings.Count(r.Output, "\n") != 1 {
		s.t.Errorf("up --zswap on ends with %d: %s", r.Code, r.Output)
	}
	s.t.Logf("up --zswap on: %s", r.Output)
	r = s.Run(commandTime, "zramfs up --size 64M --zswap auto "+systemDir+" 2>&1")
	if r.Code != 0 || strings.Contains(r.Output, "zswap") {
		s.t.Errorf("up --zswap auto ends with %d: %s", r.Code, r.Output)
	}
	s.t.Logf("up --zswap auto: %s", r.Output)
	s.Must(commandTime, "grep -q /dev/loop /proc/swaps; zramfs down "+systemDir)
}

// The recipe of docs/operations.md: a group that zswap takes nothing of, and one whose pages never
// leave zswap.
func TestZswapRecipe(t *testing.T) {
	s := startZswap(t, 384, "30%")
	s.tiers()
	batch := s.hold("batch", groupMax, "memory.zswap.max=0")
	if w := batch.walk(); w.zswap != 0 || w.device < heldPages/2 {
		t.Errorf("the batch group has faults on zswap: %+v", w)
	}
	dense := s.tiers()
	if stat := batch.stat(); stat["zswpout"] != 0 || stat["zswapped"] != 0 || dense.toDevice < heldPages/2 {
		t.Errorf("zswap has taken %d pages of the batch group, the device %d of all", stat["zswpout"], dense.toDevice)
	}
	s.Must(commandTime, fmt.Sprintf("kill %d", batch.pid))

	quick := s.hold("quick", "memory.max=28M", "memory.zswap.writeback=0")
	if w := quick.walk(); w.zswap < heldPages/3 || w.device != 0 {
		t.Errorf("the latency group has faults on the device: %+v", w)
	}
	// More than there is in memory: the kernel takes what it can.
	const reclaim = "for i in 1 2 3 4; do echo 12M >/sys/fs/cgroup/quick/memory.reclaim; done 2>/dev/null; true"
	s.Must(commandTime, reclaim)
	after := s.tiers()
	if stat := quick.stat(); stat["zswpwb"] != 0 || stat["zswpout"] == 0 || after.toDevice != dense.toDevice {
		t.Errorf("of the latency group %d pages were written back, and the device got %d", stat["zswpwb"], after.toDevice-dense.toDevice)
	}
	s.Must(commandTime, "echo 1 >/sys/fs/cgroup/quick/memory.zswap.writeback;"+reclaim)
	if stat := quick.stat(); stat["zswpwb"] == 0 {
		t.Error("without memory.zswap.writeback 0 nothing is written back either")
	}
	quick.walk()
}
