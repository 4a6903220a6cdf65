// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// memoryLimit is one limit found on the way from the process's control group up to the root.
type memoryLimit struct {
	file  string // the control file, as seen from the process
	top   string // the mount point of the hierarchy
	bytes uint64
	v1    bool
}

// noLimit is below what cgroup v1 shows for a group without a limit (PAGE_COUNTER_MAX in the
// kernel's page_counter.h) and above the memory of any machine.
const noLimit = 1 << 62

// checkCgroup looks for memory limits on the process's control groups below root ("/" but for
// tests). ram is the size of the machine's memory: a limit that is no lower is none. 0 stands for a
// size that is not known.
func checkCgroup(root string, ram uint64) Protection {
	if ram == 0 {
		ram = noLimit
	}
	p := Protection{Name: ProtectCgroup, State: StateOK, Detail: "no memory limit", Essential: true}
	limits, err := memoryLimits(root, ram)
	if err != nil {
		p.State, p.Detail = StateWarn, fmt.Sprintf("cannot tell whether memory is limited: %v", err)
		return p
	}
	for _, l := range limits {
		if l.v1 {
			p.State = StateFail
			p.Detail = fmt.Sprintf("%s is %d: reclaim in this group can wait for the device itself; leave the group before "+
				"starting it (echo $$ > %s)", l.file, l.bytes, filepath.Join(l.top, "cgroup.procs"))
			return p
		}
		p.State = StateWarn
		p.Detail = fmt.Sprintf("%s is %d: the store counts against it, and the process is slowed down or killed there; "+
			"start it in a group without a memory limit", l.file, l.bytes)
	}
	return p
}

// memoryLimits returns the limits below ram, those of cgroup v1 first.
func memoryLimits(root string, ram uint64) ([]memoryLimit, error) {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a kernel without control groups
	}
	if err != nil {
		return nil, err
	}
	mounts, err := readMounts(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil, err
	}
	var v1, v2 []memoryLimit
	for line := range strings.Lines(string(groups)) {
		id, controllers, path, ok := splitGroup(strings.TrimSpace(line))
		switch {
		case !ok:
			return nil, fmt.Errorf("parse /proc/self/cgroup: unexpected line %q", line)
		case id == "0":
			v2, err = limitsUp(root, mounts, isV2, path, "memory.max", "memory.high")
		case hasWord(controllers, "memory"):
			v1, err = limitsUp(root, mounts, isV1Memory, path, "memory.limit_in_bytes")
			for i := range v1 {
				v1[i].v1 = true
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return below(append(v1, v2...), ram), nil
}

// splitGroup splits a line of /proc/self/cgroup (cgroups(7)):
// hierarchy-ID:controller-list:cgroup-path.
func splitGroup(line string) (id, controllers, path string, ok bool) {
	id, rest, ok1 := strings.Cut(line, ":")
	controllers, path, ok2 := strings.Cut(rest, ":")
	return id, controllers, path, ok1 && ok2
}

func isV2(m *mountinfo.Info) bool { return m.FSType == "cgroup2" }

func isV1Memory(m *mountinfo.Info) bool {
	return m.FSType == "cgroup" && hasWord(m.VFSOptions, "memory")
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// limitsUp reads the named files of the group at path and of all groups above it that the first
// fitting mount shows.
func limitsUp(root string, mounts []*mountinfo.Info, fits func(*mountinfo.Info) bool, path string, names ...string,
) ([]memoryLimit, error) {
	var found []memoryLimit
	for _, m := range mounts {
		if !fits(m) {
			continue
		}
		for dir := belowMount(m, path); ; dir = filepath.Dir(dir) {
			for _, name := range names {
				file := filepath.Join(m.Mountpoint, dir, name)
				bytes, limited, err := readLimit(filepath.Join(root, file))
				if err != nil {
					return nil, err
				}
				if limited {
					found = append(found, memoryLimit{file: file, top: m.Mountpoint, bytes: bytes})
				}
			}
			if dir == "/" {
				return found, nil
			}
		}
	}
	return nil, nil
}

// belowMount returns where below the mount point the group at path lies. A mount may show a part of
// the hierarchy only (a container's); a path outside it leaves the top of what is shown.
func belowMount(m *mountinfo.Info, path string) string {
	rel, err := filepath.Rel(m.Root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "/"
	}
	return filepath.Join("/", rel)
}

// readLimit reads a limit in bytes; the word max and a missing file (the root group) are no limit.
func readLimit(file string) (bytes uint64, limited bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	word := strings.TrimSpace(string(text))
	if word == "max" {
		return 0, false, nil
	}
	bytes, err = strconv.ParseUint(word, 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("parse %s: %w", file, err)
	}
	return bytes, true, nil
}

func below(limits []memoryLimit, ram uint64) []memoryLimit {
	var low []memoryLimit
	for _, l := range limits {
		if l.bytes < ram {
			low = append(low, l)
		}
	}
	return low
}

func readMounts(path string) (_ []*mountinfo.Info, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return mountinfo.GetMountsFromReader(f, nil)
}
