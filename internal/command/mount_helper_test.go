// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestMountHelperCall(t *testing.T) {
	for _, c := range []struct{ args, call, wrong string }{
		{"zram0 /run/zram", "mount --quiet -- /run/zram", ""},
		{"zram0 /run/zram -o rw,defaults,noexec,nosuid,nodev,_netdev,nofail,noauto,x-systemd.before=swap.target,user", "mount --quiet -- /run/zram", ""},
		// mount(8) of util-linux 2.38 passes these on.
		{"zram0 /run/zram -o rw,noatime,nodiratime", "mount --quiet -- /run/zram", ""},
		{"zram0 /run/zram -o rw,strictatime,lazytime,sync,dirsync,iversion,nosymfollow", "mount --quiet -- /run/zram", ""},
		{"zram0 /run/zram -v -o rw,size=8G,algorithm=zstd(level=3),swap,priority=7,keep -t fuse.zramfs",
			"up --size=8G --algorithm=zstd(level=3) --priority=7 --keep --verbose -- /run/zram", ""},
		{"-n none /run/zram -o spill=\"/a,b\"", "mount --spill=/a,b --quiet -- /run/zram", ""},
		{"none /d -s -o blue=1,size=1M", "mount --size=1M --quiet -- /d", ""},
		{"none /d -N /proc/1/ns/mnt -o size=1M", "mount --size=1M --quiet -- /d", ""},
		{"none /d -o algorithm=zstd(level=3,dict=/a),size=1M", "mount --algorithm=zstd(level=3,dict=/a) --size=1M --quiet -- /d", ""},
		{"none /d -v -n", "mount --verbose -- /d", ""},
		{"none /d -n -s -v -n -o blue=1", "mount --verbose -- /d", ""},
		{"none /d -nsv -o blue,serve", "mount --verbose -- /d", ""},
		{"none /d -o ,x-a,X-b,,size=1M,", "mount --size=1M --quiet -- /d", ""},
		{"none /d -o spill=\"a\",size=1M", "mount --spill=a --size=1M --quiet -- /d", ""},
		{"none /d -o spill=a),size=1M", "mount --spill=a) --size=1M --quiet -- /d", ""},
		{"none /d -", "", "unknown flag -;"},
		{"none /d -n -o blue=1", "", "unknown option blue"},
		{"none -- /d", "", "unknown flag --"},
		{"none /d -o blue=1", "", "unknown option blue"},
		{"none /d -o priority=7", "", "without the option swap there is no swap"},
		{"none /d -o ro", "", "unknown option ro"},
		{"none /d -o serve", "", "unknown option serve"},
		{"none /d -o size", "", "option size: needs a value"},
		{"none /d -o swap,keep=yes", "", "option keep: takes no value"},
		{"none", "", "name a source"},
		{"none /d /e", "", "name a source"},
		{"none /d -o", "", "-o needs a value"},
		{"none /d -x", "", "unknown flag -x"},
	} {
		call, fake, err := readMountCall(strings.Fields(c.args))
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %q, %v; want %q", c.args, call, err, c.wrong)
			}
			continue
		}
		if err != nil || fake || !slices.Equal(call, strings.Fields(c.call)) {
			t.Errorf("%s: %q, %v, %v; want %q", c.args, call, fake, err, c.call)
		}
	}
}

// With -f, at any place, nothing is to be done; an empty directory is none.
func TestMountHelperFakes(t *testing.T) {
	for args, want := range map[string]bool{"none /d -f -n": true, "none /d -n -f": true, "-svf none /d": true, "none /d -snv": false} {
		if call, fake, err := readMountCall(strings.Fields(args)); fake != want || err != nil {
			t.Errorf("%s: %q, %v, %v", args, call, fake, err)
		}
	}
	if call, _, err := readMountCall([]string{"none", ""}); err == nil {
		t.Errorf("an empty directory: %q", call)
	}
}

// The exit codes are those of mount(8), and -f does nothing.
func TestMountHelperCodes(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
	}{
		{"/sbin/mount.zramfs none /nonexistent/zram -f -o size=1M", exitOK},
		{"/sbin/mount.fuse.zramfs none /nonexistent/zram", mountFailure},
		{"mount.zramfs none /nonexistent/zram -o size=nothing", mountUsage},
		{"mount.zramfs none", mountUsage},
	} {
		args := strings.Fields(c.args)
		if !isMountHelper(args) {
			t.Errorf("%s is no mount helper", args[0])
		}
		if code := runMountHelper(args, io.Discard, io.Discard); code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
		}
	}
	if isMountHelper([]string{"zramfs"}) || isMountHelper(nil) {
		t.Error("zramfs is a mount helper")
	}
}
