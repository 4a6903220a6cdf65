// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"testing"
	"time"
)

// fillTime bounds one fill of a small machine; it takes half of that on a busy host.
const fillTime = 4 * time.Minute

// A machine with one processor, 256 MiB and no clean page can be filled again and again: it does
// not stand still where the kernel has raised its watermarks above what is free.
func TestSmallMachine(t *testing.T) {
	slow(t)
	m := Start(t, Config{Memory: 256, Modules: []string{"loop", "fuse"}, Files: withPrograms(nil)})
	m.Must(commandTime, "mkdir /run/zram; zramfs up --size 256M --mem-limit 160M /run/zram 2>&1")
	for range 3 {
		begin := time.Now()
		r, err := m.Try(fillTime, "/run/guest-agent fill -share 0.6 -seconds 5 200 2>&1")
		if err != nil {
			_ = m.SysRq('m') // the console is printed
			time.Sleep(5 * time.Second)
			t.Fatalf("the machine stands still: %v", err)
		}
		t.Logf("%.0f s, exit code %d, %s: %s", time.Since(begin).Seconds(), r.Code, r.Error, r.Output)
	}
}
