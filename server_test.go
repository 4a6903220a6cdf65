// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// serverPackages are all packages of the server outside the standard library: a device locks them
// in memory. None of them is of the command line.
var serverPackages = strings.Fields(`
	codec codec/internal/impl codec/lz4 codec/page codec/pagescan codec/zstd fusefs fusefs/sysfstext loopsetup store
	store/internal/image store/internal/invariant cmd/zramfsd internal/ballast internal/control internal/daemon internal/host
	internal/idlework internal/killpoint internal/notify internal/pmqos internal/protect internal/safeopen internal/server internal/status
	internal/telemetry internal/telemetry/latency internal/tune internal/uprecord internal/zramfsd
	github.com/hanwen/go-fuse/v2/fuse github.com/hanwen/go-fuse/v2/splice
	github.com/klauspost/compress github.com/klauspost/compress/fse github.com/klauspost/compress/huff0
	github.com/klauspost/compress/internal/cpuinfo github.com/klauspost/compress/internal/le
	github.com/klauspost/compress/internal/regmask github.com/klauspost/compress/internal/snapref
	github.com/klauspost/compress/zstd github.com/klauspost/compress/zstd/internal/xxhash
	github.com/moby/sys/mountinfo github.com/klauspost/cpuid/v2 github.com/klauspost/cpuid/v2/topology golang.org/x/sys/unix`)

// heavyPackages are of the standard library and have no place in the server.
var heavyPackages = []string{"net/http", "text/template", "html/template", "crypto/tls", "regexp", "archive/tar", "compress/gzip"}

func TestServerImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/zramfsd").Output()
	if err != nil {
		t.Fatal(err)
	}
	left := slices.Clone(serverPackages)
	for _, p := range strings.Fields(string(out)) {
		name, own := strings.CutPrefix(p, module+"/")
		first, _, _ := strings.Cut(name, "/")
		switch {
		case slices.Contains(left, name):
			left = slices.DeleteFunc(left, func(l string) bool { return l == name })
		case own || strings.Contains(first, "."):
			t.Errorf("the server has package %s: it is not in serverPackages", name)
		case slices.Contains(heavyPackages, p):
			t.Errorf("the server has package %s", p)
		}
	}
	if len(left) > 0 {
		t.Errorf("the server lacks %q: take them out of serverPackages", left)
	}
}

// A function that calls a method by a name that is known at run time alone keeps all exported
// methods of all types in the program.
func TestServerDropsUnusedMethods(t *testing.T) {
	build := exec.Command("go", "build", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "zramfsd"), "./cmd/zramfsd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "main.main -> ") {
		t.Fatalf("the linker lists no dependencies: %d bytes", len(out))
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "<ReflectMethod>") {
			t.Error(line)
		}
	}
}
