// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestKernelRelease(t *testing.T) {
	for text, want := range map[string][2]int{"6.14.0-31-generic\n": {6, 14}, "3.10.0-1160.el7": {3, 10}, "banana": {}} {
		release, major, minor, err := tree(t, map[string]string{"proc/sys/kernel/osrelease": text}).KernelRelease()
		if release != strings.TrimSpace(text) || major != want[0] || minor != want[1] || (err != nil) != (major == 0) {
			t.Errorf("%q: %s, %d.%d, %v", text, release, major, minor, err)
		}
	}
}

func TestModules(t *testing.T) {
	r := tree(t, map[string]string{
		"proc/sys/kernel/osrelease":                 "6.14.0-x\n",
		"lib/modules/6.14.0-x/modules.dep":          "kernel/drivers/block/zram/zram.ko.xz: x\n",
		"lib/modules/6.14.0-x/modules.builtin":      "kernel/fs/fuse/fuse.ko\n",
		"sys/module/fuse/parameters/max_user_bgreq": "127\n",
		"proc/cmdline":                              "ro nomodule\n",
	})
	for module, want := range map[string]bool{"zram": true, "fuse": true, "loop": false} {
		if dir, found, err := r.FindModule(module); dir != "lib/modules/6.14.0-x" || found != want || err != nil {
			t.Errorf("%s: %s, %v, %v", module, dir, found, err)
		}
	}
	if _, _, err := tree(t, nil).FindModule("zram"); err == nil {
		t.Error("a module of a kernel without a release")
	}
	if value, err := r.ModuleParameter("fuse", "max_user_bgreq"); value != "127" || err != nil {
		t.Errorf("parameter %q, %v", value, err)
	}
	if value, err := r.ModuleParameter("zswap", "enabled"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing parameter %q, %v", value, err)
	}
	if !r.HasBootParameter("nomodule") || r.HasBootParameter("mod") {
		t.Error("HasBootParameter")
	}
}
