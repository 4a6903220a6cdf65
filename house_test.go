// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lattice is the import order of the packages: each line has a package and those that it may
// import, with everything that they may. A change here is a change of the architecture (see
// doc.go).
const lattice = `
	codec/lz4: codec/internal/impl
	codec/page: codec/internal/impl
	codec/pagescan: codec/internal/impl
	codec: codec/lz4 codec/page codec/pagescan codec/zstd
	internal/sample: codec/pagescan internal/procpages internal/term
	internal/bench: codec internal/sample
	codec/bulk: codec
	gpu/ptx/sim: gpu/ptx
	gpu/driver: gpu/ptx/sim
	gpu/kernels: gpu/ptx
	gpu: codec/bulk gpu/driver gpu/kernels
	internal/telemetry: internal/telemetry/latency
	store/internal/image: codec
	store: store/internal/image store/internal/invariant
	fusefs: fusefs/sysfstext internal/killpoint internal/telemetry store
	internal/control: fusefs internal/host
	internal/snapshot: codec
	store/view: store/internal/image
	internal/imageio: gpu internal/control internal/safeopen internal/snapshot internal/term store/view
	internal/kubelet: internal/host
	internal/podswap: internal/host
	internal/status: codec internal/telemetry/latency
	internal/idlework: internal/host internal/status store
	internal/pmqos: internal/host internal/status
	internal/protect: internal/host internal/status
	internal/zramfsd: fusefs internal/idlework internal/pmqos internal/protect
	internal/tune: internal/pmqos
	internal/zswap: internal/tune
	internal/doctor: internal/imageio internal/kubelet internal/podswap internal/zramfsd internal/zswap loopsetup
	internal/estimate: internal/sample internal/zswap
	internal/config: internal/host internal/safeopen internal/term
	internal/generator: internal/config
	internal/kubeapi: internal/kubelet internal/podswap
	internal/limitedswap: internal/kubeapi internal/term
	internal/nodepod: dist/systemd internal/kubeapi internal/onhost internal/term internal/zramfsd
	internal/prefetch: internal/host internal/procpages
	internal/helper: internal/prefetch loopsetup
	internal/ballast: internal/host
	internal/uprecord: internal/ballast internal/tune loopsetup
	internal/swapdev: internal/helper internal/imageio internal/notify internal/uprecord internal/zramfsd internal/zswap
	internal/settings: internal/swapdev
	internal/monitor: internal/swapdev
	internal/top: internal/monitor
	internal/journal: internal/telemetry store
	internal/web: internal/chronicle internal/journal internal/monitor
	internal/zramctl: internal/config internal/swapdev
	internal/zramview: internal/swapdev
	internal/command: internal/bench internal/doctor internal/estimate internal/generator internal/limitedswap internal/nodepod internal/settings internal/top internal/web internal/zramctl internal/zramview
	cmd/zramfs: internal/command
	internal/daemon: internal/control internal/zramfsd
	internal/server: internal/daemon internal/notify internal/safeopen internal/uprecord
	cmd/zramfsd: internal/server

	internal/require: internal/pages/pagefile
	internal/pages: internal/require
	codec/internal/codectest: codec/internal/impl internal/pages
	gpu/internal/ptxas: internal/require
	integration/guest: integration/guest/boot internal/require
	integration/guest/agent: integration/guest/boot
	internal/dicttest: codec internal/pages
	tools/bench: internal/pages/pagefile internal/term internal/zramfsd internal/zswap loopsetup
	tools/criteria: internal/criteria
	tools/gpucheck: gpu internal/pages
	tools/manuals: internal/command
	tools/pagesample: codec internal/pages/pagefile internal/procpages
`

// seams names the packages that may import a library, so that each library can be replaced in one
// place.
var seams = map[string][]string{
	"github.com/hanwen/go-fuse":     {"fusefs", "internal/zramview"},
	"github.com/urfave/cli":         {"internal/command", "tools/manuals"},
	"github.com/pierrec/lz4":        {"codec/lz4", "internal/pages", "tools/pagesample"},
	"github.com/klauspost/compress": {"codec/zstd", "internal/pages", "tools/pagesample"},
	"github.com/gdamore/tcell":      {"internal/top"},
	"github.com/moby/sys":           {"internal", "fusefs"},
	"github.com/ebitengine/purego":  {"gpu/driver"},
	"github.com/prometheus/":        {"internal/monitor"},
	"github.com/rivo/uniseg":        {"internal/term"},
	"github.com/klauspost/cpuid":    {"codec/internal/impl"},
	"go.yaml.in/yaml":               {"internal/kubelet", "internal/cluster"},
	"golang.org/x/perf":             {"tools/bench"},
}

// unsafeFiles lists the files that may use unsafe, outside of tests.
var unsafeFiles = []string{"store/internal/image/image.go", "loopsetup/swapon_linux.go", "fusefs/requests.go", "internal/telemetry/area.go", "fusefs/receive_linux.go", "gpu/driver/cuda_block_linux.go", "integration/guest/agent/pageout_linux.go", "internal/prefetch/kernel_linux.go", "internal/protect/runtime_linux.go", "internal/callfail/callfail_linux.go"}

const module = "github.com/zramfs/zramfs"

type goPackage struct {
	ImportPath string
	Imports    []string
	Module     struct{ Path string }
}

// listPackages lists our packages, and with -deps also their imports.
func listPackages(t *testing.T, flags ...string) []goPackage {
	t.Helper()
	args := append([]string{"list", "-json=ImportPath,Imports,Module"}, append(flags, "./...")...)
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// mayImport returns the closure of the lattice: each package with all that it may import.
func mayImport(t *testing.T) map[string]map[string]bool {
	t.Helper()
	direct := map[string][]string{}
	for line := range strings.Lines(lattice) {
		if name, below, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			direct[name] = strings.Fields(below)
		}
	}
	all := map[string]map[string]bool{}
	var visit func(from, p string)
	visit = func(from, p string) {
		for _, q := range direct[p] {
			if q == from {
				t.Fatalf("the lattice has a cycle through %s", q)
			}
			if all[from] == nil {
				all[from] = map[string]bool{}
			}
			all[from][q] = true
			visit(from, q)
		}
	}
	for p := range direct {
		visit(p, p)
	}
	return all
}

func TestImportsGoDownOnly(t *testing.T) {
	allowed := mayImport(t)
	for _, p := range append(listPackages(t), listPackages(t, "-tags", "cuda")...) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, imp := range p.Imports {
			if own, ok := strings.CutPrefix(imp, module+"/"); ok && !allowed[name][own] {
				t.Errorf("%s imports %s: the lattice does not allow it", name, own)
			}
			for library, users := range seams {
				if strings.HasPrefix(imp, library) && !slices.ContainsFunc(users, func(u string) bool { return name == u || strings.HasPrefix(name, u+"/") }) {
					t.Errorf("%s imports %s: only %v may", name, imp, users)
				}
			}
		}
	}
}

// The build without the tag cuda contains nothing that links dynamically.
func TestCUDAIsBehindItsTag(t *testing.T) {
	for _, p := range listPackages(t, "-deps") {
		if strings.HasPrefix(p.ImportPath, "github.com/ebitengine/purego") {
			t.Errorf("%s is part of the default build", p.ImportPath)
		}
	}
}

// goFiles calls f for each Go file of the tree, parsed with its comments.
func goFiles(t *testing.T, f func(path string, file *ast.File, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		f(path, file, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesKeepTheHouseRules(t *testing.T) {
	docs, packages := map[string]int{}, map[string]bool{}
	goFiles(t, func(path string, file *ast.File, text string) {
		test := strings.HasSuffix(path, "_test.go")
		if !strings.HasPrefix(text, "// SPDX-License-Identifier: Apache-2.0\n") {
			t.Errorf("%s does not begin with its licence line", path)
		}
		if lines := strings.Count(text, "\n"); lines > 500 {
			t.Errorf("%s has %d lines, at most 500 are allowed", path, lines)
		}
		for _, imp := range file.Imports {
			if imp.Path.Value == `"unsafe"` && !test && !slices.Contains(unsafeFiles, path) {
				t.Errorf("%s imports unsafe: only %v may", path, unsafeFiles)
			}
			if imp.Path.Value == `"golang.org/x/sys/unix"` && !strings.HasSuffix(path, "_linux.go") && !strings.HasSuffix(path, "_linux_test.go") {
				t.Errorf("%s imports x/sys/unix: only files named _linux.go may", path)
			}
		}
		if !test {
			packages[filepath.Dir(path)] = true
			if file.Doc != nil && strings.HasPrefix(file.Doc.Text(), docStart(file.Name.Name)) {
				docs[filepath.Dir(path)]++
			}
		}
	})
	for dir := range maps.Keys(packages) {
		if docs[dir] != 1 {
			t.Errorf("package %s has %d package comments, want 1", dir, docs[dir])
		}
	}
}

func docStart(name string) string {
	if name == "main" {
		return "Command "
	}
	return "Package " + name + " "
}

// F097: every exported name is documented.
func TestF097ExportedNamesAreDocumented(t *testing.T) {
	goFiles(t, func(path string, file *ast.File, _ string) {
		if strings.HasSuffix(path, "_test.go") || file.Name.Name == "main" {
			return
		}
		for _, d := range file.Decls {
			for name, doc := range exported(d) {
				if doc == nil {
					t.Errorf("%s: %s has no comment", path, name)
				}
			}
		}
	})
}

// exported yields the exported names that a declaration makes, with comments.
func exported(d ast.Decl) map[string]*ast.CommentGroup {
	names := map[string]*ast.CommentGroup{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiverExported(d)) {
			names[d.Name.Name] = d.Doc
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					names[s.Name.Name] = firstOf(s.Doc, d.Doc)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						names[n.Name] = firstOf(s.Doc, s.Comment, d.Doc)
					}
				}
			}
		}
	}
	return names
}

func receiverExported(d *ast.FuncDecl) bool {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

func firstOf(groups ...*ast.CommentGroup) *ast.CommentGroup {
	for _, g := range groups {
		if g != nil {
			return g
		}
	}
	return nil
}
