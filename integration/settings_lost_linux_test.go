// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// A worker begins although the text of the settings is damaged, and says which settings are lost.
func TestDamagedSettingsKeepNoWorkerFromServing(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "64M", "-a", "lz4", "--mem-limit", "60M")
	setAttribute(t, dir, "comp_algorithm", "zstd(level=7)")
	setAttribute(t, dir, "mem_limit", "48M")
	damageSettings(t, statusOf(t, dir).KeeperPID)
	killWorker(t, dir)
	got := statusOf(t, dir)
	if got.Restarts != 1 || got.Algorithm != "lz4" || got.MemLimit != 60<<20 || len(got.SettingsLost) != 1 {
		t.Errorf("%d restarts, algorithm %s, limit %d, lost %q", got.Restarts, got.Algorithm, got.MemLimit, got.SettingsLost)
	}
	if r := run(t, commandTimeout, "status", dir); !strings.Contains(r.Stdout, "settings are lost") {
		t.Errorf("status does not say that settings are lost:\n%s", r.Stdout)
	}
	if r := mustRun(t, commandTimeout, "events", dir); !strings.Contains(r.Stdout, "settings are lost") {
		t.Errorf("no event says that settings are lost:\n%s", r.Stdout)
	}
	setAttribute(t, dir, "mem_limit", "50M")
	killWorker(t, dir)
	if got := statusOf(t, dir); got.MemLimit != 50<<20 || len(got.SettingsLost) != 0 {
		t.Errorf("set anew: limit %d, lost %q", got.MemLimit, got.SettingsLost)
	}
}

func killWorker(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Kill(statusOf(t, dir).WorkerPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// damageSettings overwrites the texts of the settings in the memory of requests.
func damageSettings(t *testing.T, keeper int) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", keeper))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || !strings.HasPrefix(to, "/memfd:zramfs-requests") {
			continue
		}
		f := openFile(t, link, 0)
		if _, err := f.WriteAt(make([]byte, 1024), 3072); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("the keeper has no memory of requests")
}
