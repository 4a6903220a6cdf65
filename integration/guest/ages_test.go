// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var (
	agesImage = flag.String("ages-image", "", "root file system that tools/agetrace/image.sh has made")
	agesOut   = flag.String("ages-out", "", "directory for the traces")
	agesTime  = flag.Int("ages-seconds", 480, "record `N` seconds of each workload")
	agesKeep  = flag.Int("ages-keep", 8, "keep one of `N` groups of pages")
)

// agesWork are the workloads, by the name of their trace, the memory of their machine in MiB, and
// what the shell runs, with the number of seconds in $n. $READY is for one of them.
var agesWork = []struct {
	name   string
	memory int
	ready  int
	run    string
}{
	{"database", 272, 1, "READY=/run/ready1 /workloads/database.sh $n"},
	{"browser", 208, 1, "READY=/run/ready1 node /workloads/browser.js $n"},
	// A build, and a browser that a user turns to now and then.
	{"build", 232, 1, "(READY=/run/ready1 node /workloads/browser.js $n 40-44,100-103,170-175,290-293,400-406 & while [ ! -e $GO ]; do sleep 1; done; /workloads/build.sh $n; wait)"},
	// The load shifts three times: a database with a browser in the background, that browser, a
	// build, and the database again with other rows in use.
	{"mixed", 336, 2, "(READY=/run/ready1 BUSY=0-120-0,360-900-0.5 /workloads/database.sh $n & READY=/run/ready2 node /workloads/browser.js $n 120-240 &" +
		" while [ ! -e $GO ]; do sleep 1; done; sleep 240; /workloads/build.sh 120; wait)"},
}

// agesFill bounds the time until the programs have their memory.
const agesFill = 10 * time.Minute

// TestRecordAges records what becomes of the pages of a swap device while real programs need more
// memory than the machine has.
func TestRecordAges(t *testing.T) {
	slow(t)
	if *agesImage == "" || *agesOut == "" {
		t.Skip("no -ages-image and -ages-out, see tools/agetrace")
	}
	tool := filepath.Join(t.TempDir(), "agetrace")
	compile := exec.Command("go", "build", "-o", tool, "github.com/zramfs/zramfs/tools/agetrace")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("compile agetrace: %v\n%s", err, out)
	}
	for _, work := range agesWork {
		t.Run(work.name, func(t *testing.T) { recordAges(t, tool, work.name, work.memory, work.ready, work.run) })
	}
}

// recordAges records one of them: all from the first page on, also while the programs take their
// memory.
func recordAges(t *testing.T, tool, name string, memory, ready int, run string) {
	const out = "/run/trace"
	m := Start(t, Config{Memory: memory, Modules: []string{"loop", "fuse"}, Disks: []string{*agesImage}, Root: "/dev/vda",
		Files: withPrograms(map[string]string{"/usr/bin/agetrace": tool})})
	m.Must(commandTime, "mount -t tracefs tracefs /sys/kernel/tracing; mkdir -p /run/zram; zramfs up --size 1G --devices 1 --slots keep /run/zram 2>&1")
	device := m.Must(commandTime, "awk 'NR == 2 { print $1 }' /proc/swaps")
	m.Must(commandTime, fmt.Sprintf("export n=%d GO=/run/go; (%s) >/run/output 2>&1 & echo $! >/run/work; "+
		"exec agetrace -device %s -seconds %d -keep %d -remark '%s' -o %s >/run/recorded 2>&1 & echo $! >/run/recorder", *agesTime, run, device, 10**agesTime, *agesKeep, name, out))
	await(t, m, agesFill, fmt.Sprintf("[ $(ls /run/ready* | wc -l) -ge %d ]", ready))
	m.Must(commandTime, "touch /run/go")
	await(t, m, 3*time.Duration(*agesTime)*time.Second, "! kill -0 $(cat /run/work)")
	m.Must(commandTime, "kill $(cat /run/recorder); while kill -0 $(cat /run/recorder); do sleep 1; done 2>/dev/null")
	t.Log(m.Must(commandTime, "cat /run/recorded; tail -n 3 /run/output; grep pswp /proc/vmstat; zramfs status /run/zram || true"))
	text, err := base64.StdEncoding.DecodeString(m.Must(commandTime, "base64 -w 0 "+out))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*agesOut, name+".gz"), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// await waits until a command of the shell succeeds, and says how far the machine is.
func await(t *testing.T, m *Machine, timeout time.Duration, condition string) {
	t.Helper()
	for end := time.Now().Add(timeout); m.Run(commandTime, condition).Code != 0; time.Sleep(5 * time.Second) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", condition, timeout)
		}
		t.Log(m.Run(commandTime, "cat /proc/uptime /proc/loadavg; grep -E 'pswp|workingset_refault_anon' /proc/vmstat; grep MemAvailable /proc/meminfo; tail -n 1 /run/output | cut -c 1-200").Output)
	}
}
