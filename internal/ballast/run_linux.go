// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
)

// Config holds the options of Run.
type Config struct {
	// Policy is Auto or Free.
	Policy Policy
	// Areas are the paths of the device's swap areas.
	Areas []string
	// Keeper is the process with which Run ends.
	Keeper int
	// Groups is the mount point of the control groups for memory, empty where there is none. The
	// process joins the highest group there, as far as it may: the group of a service may not swap.
	Groups string
}

// How often the process looks at the machine. With a ballast it looks often enough that programs
// never find swap full.
const (
	lookIdle = time.Second
	lookHeld = 250 * time.Millisecond
)

// retryTime passes before a ballast grows again that the kernel did not page out.
const retryTime = time.Minute

// Run holds a ballast as the policy wants it, until the keeper has gone. SIGTERM may end the
// process at any time: there is nothing to undo.
func Run(cfg Config) (err error) {
	prepare(cfg.Groups)
	if mode, err := host.Local.Sysctl("vm.overcommit_memory"); err == nil && mode == "2" {
		return errOvercommit
	}
	keeper, err := unix.PidfdOpen(cfg.Keeper, 0)
	if errors.Is(err, unix.ENOSYS) { // Linux 5.2
		keeper, err = -1, nil
	}
	if err != nil {
		return fmt.Errorf("watch the keeper (PID %d): %w", cfg.Keeper, err)
	}
	read, err := newReader("/", cfg.Areas)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, read.close()) }()
	// It ends with the process. Without it the kernel kills more in groups at their limits.
	go func() { _ = Follow(host.Local, nil) }()
	h := &holder{governor: governor{policy: cfg.Policy}, read: read, keeper: keeper, pid: cfg.Keeper}
	for wait := time.Duration(0); !h.ended(wait); {
		if err := h.look(time.Now()); err != nil {
			return err
		}
		wait = lookIdle
		if h.size() > 0 {
			wait = lookHeld
		}
	}
	return nil
}

// ProcessName is the name that ps and /proc/PID/stat show of the process.
const ProcessName = "zramfs-slots"

// errOvercommit means that address space counts as memory.
var errOvercommit = errors.New("vm.overcommit_memory is 2: a ballast would take what swap gives")

// prepare makes the process the first that the kernel's OOM killer chooses, and a small one.
func prepare(groups string) {
	_ = os.WriteFile("/proc/self/comm", []byte(ProcessName), 0)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // raising it needs no right
	if groups != "" {
		// 0 is the process that writes (cgroups(7)).
		_ = os.WriteFile(filepath.Join(groups, "cgroup.procs"), []byte("0"), 0)
	}
	debug.SetGCPercent(20)
}

// A holder holds the ballast. It is used by one goroutine.
type holder struct {
	governor governor
	read     *reader
	keeper   int       // its pidfd, -1 where the kernel has none
	pid      int       // of the keeper
	ballast  *ballast  // nil until one is wanted
	total    uint64    // size of all swap at the last look
	notUntil time.Time // when it may grow again
}

// ended reports whether the keeper ends within that time.
func (h *holder) ended(within time.Duration) bool {
	if h.keeper < 0 {
		time.Sleep(within)
		return errors.Is(unix.Kill(h.pid, 0), unix.ESRCH)
	}
	for end := time.Now().Add(within); ; {
		left := max(0, time.Until(end))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.keeper), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if n > 0 || !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

func (h *holder) size() uint64 {
	if h.ballast == nil {
		return 0
	}
	return uint64(h.ballast.size)
}

// look adjusts the ballast to what the machine is like now.
func (h *holder) look(now time.Time) error {
	s, err := h.read.sample()
	if err != nil {
		return err
	}
	if s.swapTotal < h.total { // swapoff: what it would bring back goes first
		h.notUntil = now.Add(retryTime)
	}
	h.total = s.swapTotal
	target := h.governor.target(s, h.size(), now)
	if now.Before(h.notUntil) && h.ballast != nil {
		return h.ballast.resize(0, nil)
	}
	switch {
	case target == h.size():
		return nil
	case now.Before(h.notUntil):
		return nil
	case h.ballast == nil:
		if h.ballast, err = newBallast(s.own); err != nil {
			return err
		}
	}
	began := h.size()
	if err := h.ballast.resize(target, func() bool { return h.mayGrow(target) }); err != nil {
		return err
	}
	if h.size() <= began {
		return nil
	}
	return h.check(now)
}

// mayGrow looks at the machine before each chunk, since programs may want the same slots.
func (h *holder) mayGrow(target uint64) bool {
	if h.ended(0) {
		return false
	}
	s, err := h.read.sample()
	if err != nil || want(s, h.size()) < min(target, h.size()+chunk) {
		return false
	}
	if h.size()%(8*chunk) != 0 {
		return true
	}
	// Where the control group may not swap, the ballast stays in memory.
	out, err := swappedOut()
	return err == nil && out+8*chunk >= h.size()
}

// check frees a ballast that is in memory and not in swap, as where the control group may not swap.
func (h *holder) check(now time.Time) error {
	if out, err := h.ballast.settle(); out || err != nil {
		return err
	}
	h.notUntil = now.Add(retryTime)
	return h.ballast.resize(0, nil)
}
