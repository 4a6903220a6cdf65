// SPDX-License-Identifier: Apache-2.0

package command

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/notify"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/uprecord"
)

// The device of a section is where it is up, else where the configuration has it.
func TestSectionDir(t *testing.T) {
	conf := &config.Config{Sections: []*config.Section{{Name: "zram1", Dir: "/srv/archive"}, {Name: "zram2", Dir: "/run/zram3"}}}
	asked := func(dir, section string) swapdev.Device {
		return swapdev.Device{Dir: dir, Record: &uprecord.Record{Dir: dir, Section: section}}
	}
	for _, test := range []struct {
		section string
		all     []swapdev.Device
		want    string
	}{
		{"zram0", nil, "/run/zram"},
		{"zram1", nil, "/srv/archive"},
		{"swap", nil, "/run/swap"},
		{"zram1", []swapdev.Device{asked("/run/before", "zram1"), {Dir: "/srv/archive"}}, "/run/before"},
		{"zram0", []swapdev.Device{{Dir: "/run/zram0"}}, "/run/zram"},
		{"zram3", []swapdev.Device{asked("/run/zram3", "zram2")}, "/run/zram3"}, // refused as up with other values
	} {
		if got := sectionDir(conf, test.section, test.all); got != test.want {
			t.Errorf("%s with %v: %s, want %s", test.section, test.all, got, test.want)
		}
	}
}

func TestSectionIsAName(t *testing.T) {
	for _, args := range [][]string{{"up", "--section", "zram0", "/run/zram"}, {"down", "--section", "a/b"}, {"upgrade", "--section", ""}, {"up", "--all", "--section", "zram0"}} {
		if got := runProgram(t, args...); got.code != exitUsage || !strings.Contains(got.stderr, "--section") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// A section that asks for no device is no failure under a service manager, which hears why there is
// none. For a user it is one.
func TestUpTellsManagerWhyNoDevice(t *testing.T) {
	const off = "/run/zram is not configured for this machine: its size is 0 (/etc/zramfs.conf:2)"
	for _, test := range []struct {
		text string
		args []string
		want string // the manager's message
		code int    // without a manager
	}{
		{"[zram0]\nzram-size = 0\n", []string{"--section", "zram0"}, off, exitFailure},
		{"[zram0]\nzram-size = 0\n", []string{"/run/zram"}, off, exitFailure},
		{"[zram0]\nhost-memory-limit = 1\n[zram1]\nzram-size=0\n", []string{"--all"},
			"/run/zram is left out: this machine has MEMORY of memory, more than its host-memory-limit of 1 MiB (/etc/zramfs.conf:2); /run/zram1 is left out: its size is 0 (/etc/zramfs.conf:4)", exitOK},
		{"", []string{"--all"}, "no device is configured: there is no section in /etc/zramfs.conf", exitOK},
	} {
		args := append([]string{"up", "--" + flagConfigRoot, writeConfig(t, test.text)}, test.args...)
		t.Setenv(notify.Variable, "")
		if got := runProgram(t, args...); got.code != test.code {
			t.Errorf("%q without a manager: %+v", args, got)
		}
		messages := listen(t)
		got := runProgram(t, args...)
		message := <-messages
		if before, after, ok := strings.Cut(message, "has "); ok {
			_, after, _ = strings.Cut(after, " of memory")
			message = before + "has MEMORY of memory" + after
		}
		if got.code != exitOK || message != "READY=1\nSTATUS="+test.want {
			t.Errorf("%q: %+v, the manager hears %q", args, got, message)
		}
		t.Setenv(notify.Variable, filepath.Join(t.TempDir(), "gone"))
		if got := runProgram(t, args...); got.code != exitFailure {
			t.Errorf("%q for a manager that is gone: %+v", args, got)
		}
	}
}

// listen makes the test a service manager, and returns the messages that it gets but barriers.
func listen(t *testing.T) <-chan string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	t.Setenv(notify.Variable, name)
	messages := make(chan string, 10)
	go func() {
		defer close(messages)
		for text := make([]byte, 4096); ; {
			n, err := c.Read(text) // descriptors that come with it are closed
			if err != nil {
				return
			}
			if !strings.HasPrefix(string(text[:n]), "BARRIER") {
				messages <- string(text[:n])
			}
		}
	}()
	return messages
}
