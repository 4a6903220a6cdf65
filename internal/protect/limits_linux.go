// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/status"
)

// fatal are the resource limits that end a device: the kernel kills a process that has used up its
// processor time, and refuses an image that is larger than a file may be.
var fatal = []struct {
	resource  int
	name      string
	unit      string
	directive string // of systemd
	shell     string // the option of ulimit
}{
	{unix.RLIMIT_CPU, "RLIMIT_CPU", "seconds of processor time", "LimitCPU", "-t"},
	{unix.RLIMIT_FSIZE, "RLIMIT_FSIZE", "bytes a file", "LimitFSIZE", "-f"},
}

// RaiseLimits lifts the limits that the process has inherited and a device would die of, for itself
// and for the processes that it starts. It returns an error for one that may not be lifted. A limit
// of the time in the real-time class that remains keeps threads out of the class.
func RaiseLimits() error {
	_ = raise(unix.RLIMIT_RTTIME)
	var failed []string
	for _, l := range fatal {
		if limit := raise(l.resource); limit != unix.RLIM_INFINITY {
			failed = append(failed, fmt.Sprintf("%s is %d %s, and raising it needs the capability CAP_SYS_RESOURCE: start zramfs without it (ulimit %s unlimited, "+
				"%s=infinity)", l.name, limit, l.unit, l.shell, l.directive))
		}
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, "; "))
	}
	return nil
}

// raise lifts a limit, or raises it as far as is allowed, and returns what it is then.
func raise(resource int) (limit uint64) {
	none := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if unix.Setrlimit(resource, &none) == nil {
		return none.Cur
	}
	var now unix.Rlimit
	if unix.Getrlimit(resource, &now) != nil {
		return none.Cur // no such limit
	}
	if most := (unix.Rlimit{Cur: now.Max, Max: now.Max}); unix.Setrlimit(resource, &most) == nil {
		return most.Cur
	}
	return now.Cur
}

// CheckLimits is the outcome of RaiseLimits.
func CheckLimits() status.Protection {
	p := status.Protection{Name: status.NameLimits, State: status.OK, Detail: "no inherited limit ends the processes", Essential: true}
	if err := RaiseLimits(); err != nil {
		p.State, p.Detail = status.Fail, err.Error()
	}
	return p
}
