// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/tune"
)

// builder matches where a kernel was built in /proc/version; of one that was built at home this is
// the user and the host.
var builder = regexp.MustCompile(`\([^()\s]+@[^()\s]+\) `)

// machine adds facts of the machine. It leaves out /proc/cmdline, which may hold secrets.
func (c *collector) machine() {
	c.take("machine/version", "/proc/version: the kernel, without where it was built", fileTime, func(context.Context) ([]byte, error) {
		text, err := os.ReadFile(c.Machine.Path("proc/version"))
		return builder.ReplaceAll(text, nil), err
	})
	for _, name := range []string{"meminfo", "swaps", "vmstat"} {
		c.copyFile("machine/"+name, "/proc/"+name, "proc", name)
	}
	for _, name := range []string{"cpu", "io", "irq", "memory"} {
		c.copyFile("machine/pressure/"+name, "/proc/pressure/"+name, "proc/pressure", name)
	}
	c.take("machine/sysctls", "the kernel parameters vm.*", fileTime, c.sysctls)
	c.take("machine/parameters", "the kernel parameters that up --tune can change", fileTime, c.parameters)
	c.take("machine/mounts", "the lines of our mounts in /proc/self/mountinfo", fileTime, c.mounts)
	c.take("machine/kernel-log", "lines of the kernel's log that name zramfs, loop devices or the OOM killer, with the names of killed processes",
		fileTime, c.kernelLog)
}

// sysctls prints the parameters vm.* as sysctl(8) does. A file that not all users may read is one
// that does something when it is used, such as vm.drop_caches.
func (c *collector) sysctls(context.Context) ([]byte, error) {
	const dir = "proc/sys/vm"
	entries, err := os.ReadDir(c.Machine.Path(dir))
	var out bytes.Buffer
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr != nil || !info.Mode().IsRegular() || info.Mode()&0o004 == 0 {
			continue
		}
		value, readErr := c.Machine.Read(dir + "/" + e.Name())
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		fmt.Fprintf(&out, "vm.%s = %s\n", e.Name(), value)
	}
	return out.Bytes(), err
}

// parameters prints the parameters that package tune knows for this machine, with its values.
func (c *collector) parameters(context.Context) ([]byte, error) {
	var out bytes.Buffer
	var all error
	for _, s := range tune.Settings(c.Machine) {
		now, err := s.Parameter.Read(c.Machine)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			all = errors.Join(all, err)
		default:
			fmt.Fprintf(&out, "%s = %s (recommended: %s)\n", s.Parameter, now, s.Value)
		}
	}
	return out.Bytes(), all
}

// mounts returns the lines of our mounts (proc_pid_mountinfo(5)).
func (c *collector) mounts(context.Context) ([]byte, error) {
	text, err := os.ReadFile(c.Machine.Path("proc/self/mountinfo"))
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " - "+swapdev.FSType+" ") {
			out.WriteString(line)
		}
	}
	return out.Bytes(), err
}

// limitFiles are the files of a control group that bound or count its memory, or bound its
// processor time.
var limitFiles = []string{
	"memory.min", "memory.low", "memory.high", "memory.max", "memory.current", "memory.events", "memory.swap.high", "memory.swap.max",
	"memory.swap.current", "memory.zswap.max", "cpu.max", "cpu.weight", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
	"memory.usage_in_bytes", "memory.failcnt", "memory.oom_control", "memory.swappiness",
}

// groupLimits prints the limits of the groups that a process is in, its own first.
func (c *collector) groupLimits(pid int) ([]byte, error) {
	dirs, err := c.Machine.GroupsOf(pid)
	var out bytes.Buffer
	for _, dir := range dirs {
		for _, name := range limitFiles {
			file := filepath.Join(dir, name)
			value, readErr := c.Machine.Read(file)
			if readErr == nil {
				fmt.Fprintf(&out, "%s: %s\n", file, strings.ReplaceAll(value, "\n", ", "))
			} else if !errors.Is(readErr, fs.ErrNotExist) {
				err = errors.Join(err, readErr)
			}
		}
	}
	return out.Bytes(), err
}
