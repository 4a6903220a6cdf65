// SPDX-License-Identifier: Apache-2.0

//go:build invariants || race

package killpoint

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
)

// variable names the file that says where to die.
const variable = "ZRAMFS_KILL_AT"

var hook atomic.Pointer[func(point string)]

func init() {
	if path := os.Getenv(variable); path != "" {
		Hook(dieAsToldBy(path))
	}
}

// At marks a moment at which a process may die. Its name is unique.
func At(point string) {
	if f := hook.Load(); f != nil {
		(*f)(point)
	}
}

// Hook has f called at each point, by whichever goroutine comes there; nil ends
// that.
func Hook(f func(point string)) {
	if f == nil {
		hook.Store(nil)
		return
	}
	hook.Store(&f)
}

// dieAsToldBy returns a hook that does as the file says, or nil where there is
// none, or none that can be understood.
func dieAsToldBy(path string) func(point string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var nth int64
	var first string
	if n, _ := fmt.Sscanf(string(text), "%d %s", &nth, &first); n != 2 {
		return nil
	}
	where := string(text[len(fmt.Sprint(nth))+1:])
	var met atomic.Int64
	return func(point string) {
		if point != where || met.Add(1) != nth || os.Remove(path) != nil {
			return
		}
		// Not by package os, which would start a process first. It returns with an error only.
		panic(syscall.Kill(syscall.Getpid(), syscall.SIGKILL))
	}
}
