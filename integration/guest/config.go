// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/integration/guest/boot"
	"github.com/zramfs/zramfs/internal/require"
)

// A Config says what a machine consists of. Its zero value boots: a kernel, busybox and the agent.
type Config struct {
	// Memory of the machine, in MiB; 512 where it is 0.
	Memory int
	// CPUs is the number of processors; 1 where it is 0.
	CPUs int
	// Modules of the kernel to load before anything else, by name, each after those that it needs.
	Modules []string
	// Sealed forbids the kernel to load more modules, as if it had been built without others.
	Sealed bool
	// Files has files of the host by the path that they get in the root file system.
	Files map[string]string
	// Links has where symbolic links lead, by the path that they get there.
	Links map[string]string
	// Disks are images of disks: /dev/vda, /dev/vdb and so on. Keep keeps what is written to them.
	Disks []string
	Keep  bool
	// Root is the device that becomes the root file system, of type ext4; Files are written to it.
	// The agent is [boot.AgentPath] there.
	Root string
	// Source is the directory of the kernel; that of [require.Guest] where it is empty.
	Source string
	// Init becomes process 1; the agent where it is empty. Any other has to start the agent with
	// the argument serve, for which Start waits.
	Init []string
	// Parameters are added to the kernel's command line.
	Parameters string
	// Arguments are added to qemu's.
	Arguments []string
}

// agentPath is where the agent lies in the first root file system; the kernel starts it there.
const agentPath = "/init"

// build makes the archive that the kernel unpacks and returns its path, and that of the kernel.
func (c *Config) build(t testing.TB) (kernel, archive string) {
	t.Helper()
	source := c.Source
	if source == "" {
		source = require.Guest(t)
	}
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent")
	if err := openAgent(); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", agent, "github.com/zramfs/zramfs/integration/guest/agent")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("compile the agent: %v\n%s", err, out)
	}
	archive = filepath.Join(dir, "archive")
	if err := c.pack(archive, source, agent, dir); err != nil {
		t.Fatalf("make the root file system: %v", err)
	}
	return filepath.Join(source, "vmlinuz"), archive
}

// openAgent opens the agent's sources, or go test would take the result of another agent from its
// cache: the compiler is what reads them.
func openAgent() error {
	sources, err := filepath.Glob("agent/*.go")
	for _, name := range sources {
		_, failed := os.ReadFile(name)
		err = errors.Join(err, failed)
	}
	return err
}

func (c *Config) pack(archive, source, agent, scratch string) error {
	tree, err := findModules(filepath.Join(source, "lib/modules"))
	if err != nil {
		return err
	}
	wanted := c.Modules
	if len(c.Disks) > 0 {
		wanted = append([]string{"virtio_pci", "virtio_blk"}, wanted...)
	}
	modules, err := tree.order(wanted)
	if err != nil {
		return err
	}
	order := boot.Order{Sealed: c.Sealed, Root: c.Root, Init: c.Init, Files: slices.Sorted(maps.Keys(c.Files)), Links: c.Links}
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	w := newCpio(file)
	for _, path := range modules {
		name := "/lib/modules/" + filepath.Base(path)
		order.Modules = append(order.Modules, name)
		if err := w.file(name, path); err != nil {
			return err
		}
	}
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(scratch, "order"), text, 0o644); err != nil {
		return err
	}
	if err := c.files(w, map[string]string{agentPath: agent, boot.OrderPath: filepath.Join(scratch, "order"),
		"/bin/busybox": filepath.Join(source, "busybox")}); err != nil {
		return err
	}
	if err := w.close(); err != nil {
		return err
	}
	return file.Close()
}

// withPrograms returns files with zramfs and, next to it as on the host, its server.
func withPrograms(files map[string]string) map[string]string {
	program := os.Getenv("ZRAMFS_BINARY")
	all := map[string]string{"/usr/bin/zramfs": program, "/usr/bin/zramfsd": filepath.Join(filepath.Dir(program), "zramfsd")}
	maps.Copy(all, files)
	return all
}

// files packs what every machine has and what the test asked for.
func (c *Config) files(w *cpioWriter, always map[string]string) error {
	for _, set := range []map[string]string{always, c.Files} {
		for name, from := range set {
			if !filepath.IsAbs(name) {
				return fmt.Errorf("%s is no absolute path", name)
			}
			if err := w.file(name, from); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"/dev", "/proc", "/sys", "/run", "/tmp", "/root", "/sbin", "/usr/bin", "/usr/sbin"} {
		w.dir(name)
	}
	return w.err
}
