// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/protect"
)

// machine is where the checks of doctor look.
type machine struct {
	root         string                          // "/" but for tests, which put a tree of files there
	protections  func() []protect.Protection     // what the serving process would find out by itself
	instructions func() daemon.InstructionStatus // what the codecs run on
	noswap       func() error                    // nil where a tmpfs can be made that is never swapped
}

func thisMachine() machine {
	return machine{root: "/", protections: protect.CheckMachine, instructions: daemon.Instructions, noswap: tryNoswap}
}

// path is where a file of the machine lies.
func (m machine) path(name string) string { return filepath.Join(m.root, name) }

// read returns the text of a file, without white space around it.
func (m machine) read(path string) (string, error) {
	text, err := os.ReadFile(m.path(path))
	return strings.TrimSpace(string(text)), err
}

// readNumber returns the decimal number in a file.
func (m machine) readNumber(path string) (uint64, error) {
	text, err := m.read(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return n, nil
}

// open opens a file and closes it again: the only way to learn of a device that a control group
// denies.
func (m machine) open(path string, flags int) error {
	f, err := os.OpenFile(m.path(path), flags, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// exists reports whether there is a file at path.
func (m machine) exists(path string) bool {
	_, err := os.Stat(m.path(path))
	return err == nil
}

// field returns the value of one line of a file of "name: value" lines.
func (m machine) field(path, name string) (string, error) {
	text, err := m.read(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("read %s: no %s in it", path, name)
}

// kibibytes returns the value of a line "name: 123 kB" of a file, in bytes.
func (m machine) kibibytes(path, name string) (uint64, error) {
	text, err := m.field(path, name)
	if err != nil {
		return 0, err
	}
	kib, err := strconv.ParseUint(strings.TrimSuffix(text, " kB"), 10, 54)
	return kib << 10, err
}

// kernel returns the release of the running kernel and the two numbers it begins with.
func (m machine) kernel() (release string, major, minor int, err error) {
	release, err = m.read("proc/sys/kernel/osrelease")
	if err != nil {
		return "", 0, 0, err
	}
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return release, 0, 0, fmt.Errorf("read the kernel version %q: %w", release, err)
	}
	return release, major, minor, nil
}

// The capabilities that matter, by their bits in the sets of /proc/PID/status
// (include/uapi/linux/capability.h).
const (
	capIPCLock     = 14
	capSysAdmin    = 21
	capSysNice     = 23
	capSysResource = 24
)

// hasCapability reports whether the effective set has the capability.
func (m machine) hasCapability(bit int) (bool, error) {
	text, err := m.field("proc/self/status", "CapEff")
	if err != nil {
		return false, err
	}
	set, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return false, fmt.Errorf("read the capabilities: %w", err)
	}
	return set>>bit&1 == 1, nil
}

// inFirstUserNamespace recognises it by its identity map of all IDs (user_namespaces(7)). A kernel
// without user namespaces has no such file, and no other namespace.
func (m machine) inFirstUserNamespace() (bool, error) {
	text, err := m.read("proc/self/uid_map")
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return strings.Join(strings.Fields(text), " ") == "0 0 4294967295", err
}

// lockLimit returns the soft limit RLIMIT_MEMLOCK as /proc/self/limits shows it: bytes, or
// "unlimited".
func (m machine) lockLimit() (string, error) {
	const name = "Max locked memory"
	text, err := m.read("proc/self/limits")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				return fields[0], nil
			}
		}
	}
	return "", fmt.Errorf("read proc/self/limits: no %q in it", name)
}
