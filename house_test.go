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

// lattice is the import order of the packages: a package right of < may import those left of it,
// and everything that they may import. A change here is a change of the architecture (see doc.go).
const lattice = `
	codec/internal/impl < codec/internal/codectest
	codec/internal/codectest < codec/lz4
	codec/internal/codectest < codec/page
	codec/internal/codectest < codec/zstd
	codec/internal/impl < codec/lz4
	codec/internal/impl < codec/page
	codec/internal/impl < codec/pagescan
	codec/lz4 < codec
	codec/page < codec
	codec/zstd < codec
	codec/pagescan < codec
	codec < codec/bulk
	codec < store/internal/image
	store/internal/image < store
	store/internal/image < store/view
	internal/killpoint < store/internal/invariant
	store/internal/invariant < store
	internal/killpoint < fusefs
	store < fusefs
	fusefs/sysfstext < fusefs
	telemetry/latency < telemetry
	telemetry < fusefs
	cmd/zramfs/host < cmd/zramfs/control
	fusefs < cmd/zramfs/control
	cmd/zramfs/control < cmd/zramfs/daemon
	fusefs < cmd/zramfs/journal
	cmd/zramfs/journal < cmd/zramfs/command
	cmd/zramfs/host < cmd/zramfs/protect
	cmd/zramfs/host < cmd/zramfs/awake
	cmd/zramfs/awake < cmd/zramfs/daemon
	cmd/zramfs/awake < cmd/zramfs/doctor
	cmd/zramfs/host < cmd/zramfs/background
	store < cmd/zramfs/background
	cmd/zramfs/background < cmd/zramfs/daemon
	cmd/zramfs/protect < cmd/zramfs/daemon
	fusefs < cmd/zramfs/daemon
	loopsetup < cmd/zramfs/daemon
	cmd/zramfs/daemon < cmd/zramfs/command
	loopsetup < cmd/zramfs/aside
	cmd/zramfs/prefetch < cmd/zramfs/aside
	cmd/zramfs/aside < cmd/zramfs/devices
	cmd/zramfs/daemon < cmd/zramfs/devices
	cmd/zramfs/slots < cmd/zramfs/devices
	cmd/zramfs/tune < cmd/zramfs/devices
	cmd/zramfs/term < cmd/zramfs/devices
	cmd/zramfs/devices < cmd/zramfs/setup
	cmd/zramfs/devices < cmd/zramfs/settings
	cmd/zramfs/settings < cmd/zramfs/command
	cmd/zramfs/devices < cmd/zramfs/figures
	telemetry/latency < cmd/zramfs/figures
	cmd/zramfs/figures < cmd/zramfs/exposition
	cmd/zramfs/figures < cmd/zramfs/monitor
	cmd/zramfs/figures < cmd/zramfs/alerts
	cmd/zramfs/alerts < cmd/zramfs/command
	cmd/zramfs/monitor < cmd/zramfs/command
	cmd/zramfs/monitor < cmd/zramfs-monitor
	cmd/zramfs/exposition < cmd/zramfs/web
	cmd/zramfs/regular < cmd/zramfs/chronicle
	cmd/zramfs/regular < cmd/zramfs/imaging
	cmd/zramfs/regular < cmd/zramfs/web
	cmd/zramfs/chronicle < cmd/zramfs/web
	cmd/zramfs/watch < cmd/zramfs/web
	cmd/zramfs/monitor < cmd/zramfs/web
	cmd/zramfs/control < cmd/zramfs/web
	cmd/zramfs/journal < cmd/zramfs/web
	cmd/zramfs/term < cmd/zramfs/web
	cmd/zramfs/web < cmd/zramfs-monitor
	cmd/zramfs/limits < cmd/zramfs-monitor
	cmd/zramfs/devices < cmd/zramfs/zramctl
	cmd/zramfs/config < cmd/zramfs/zramctl
	cmd/zramfs/zramctl < cmd/zramfs/command
	cmd/zramfs/devices < cmd/zramfs/namespace
	cmd/zramfs/namespace < cmd/zramfs/command
	cmd/zramfs/prefetch < cmd/zramfs/setup
	cmd/zramfs/imaging < cmd/zramfs/setup
	cmd/zramfs/notify < cmd/zramfs/setup
	cmd/zramfs/setup < cmd/zramfs/command
	cmd/zramfs/devices < cmd/zramfs/watch
	cmd/zramfs/watch < cmd/zramfs/top
	cmd/zramfs/top < cmd/zramfs-monitor
	cmd/zramfs/watch < cmd/zramfs/command
	cmd/zramfs/daemon < cmd/zramfs/doctor
	cmd/zramfs/imaging < cmd/zramfs/doctor
	cmd/zramfs/doctor < cmd/zramfs/command
	cmd/zramfs/host < cmd/zramfs/kubelet
	cmd/zramfs/host < cmd/zramfs/podswap
	cmd/zramfs/kubelet < cmd/zramfs/doctor
	cmd/zramfs/podswap < cmd/zramfs/doctor
	cmd/zramfs/kubelet < cmd/zramfs/kubeapi
	cmd/zramfs/podswap < cmd/zramfs/kubeapi
	cmd/zramfs/kubeapi < cmd/zramfs/limitedswap
	cmd/zramfs/limitedswap < cmd/zramfs-node
	cmd/zramfs/onhost < cmd/zramfs/nodepod
	cmd/zramfs/kubeapi < cmd/zramfs/nodepod
	cmd/zramfs/term < cmd/zramfs/nodepod
	dist/systemd < cmd/zramfs/nodepod
	cmd/zramfs/nodepod < cmd/zramfs-node
	cmd/zramfs/term < cmd/zramfs/limitedswap
	cmd/zramfs/podswap < cmd/zramfs/command
	cmd/zramfs/kubelet < cmd/zramfs/command
	cmd/zramfs/regular < cmd/zramfs/command
	cmd/zramfs/devices < cmd/zramfs/bundle
	cmd/zramfs/bundle < cmd/zramfs/command
	cmd/zramfs/host < cmd/zramfs/config
	cmd/zramfs/term < cmd/zramfs/config
	cmd/zramfs/regular < cmd/zramfs/config
	cmd/zramfs/config < cmd/zramfs/command
	cmd/zramfs/config < cmd/zramfs/generator
	cmd/zramfs/generator < cmd/zramfs/command
	cmd/zramfs/host < cmd/zramfs/groupstat
	cmd/zramfs/groupstat < cmd/zramfs/slots
	cmd/zramfs/host < cmd/zramfs/slots
	cmd/zramfs/host < cmd/zramfs/command
	cmd/zramfs/slots < cmd/zramfs/command
	cmd/zramfs/awake < cmd/zramfs/tune
	cmd/zramfs/tune < cmd/zramfs/doctor
	cmd/zramfs/tune < cmd/zramfs/command
	cmd/zramfs/term < cmd/zramfs/command
	procpages < cmd/zramfs/prefetch
	cmd/zramfs/host < cmd/zramfs/prefetch
	cmd/zramfs/term < cmd/zramfs/prefetch
	cmd/zramfs/prefetch < cmd/zramfs/command
	cmd/zramfs/host < cmd/zramfs/reclaim
	cmd/zramfs/reclaim < cmd/zramfs/command
	procpages < cmd/zramfs/sample
	codec/pagescan < cmd/zramfs/sample
	cmd/zramfs/term < cmd/zramfs/sample
	codec < cmd/zramfs/snapshot
	cmd/zramfs/snapshot < cmd/zramfs/imaging
	codec/bulk < cmd/zramfs/imaging
	store/view < cmd/zramfs/imaging
	cmd/zramfs/control < cmd/zramfs/imaging
	gpu < cmd/zramfs/imaging
	cmd/zramfs/term < cmd/zramfs/imaging
	cmd/zramfs/imaging < cmd/zramfs/bench
	cmd/zramfs/sample < cmd/zramfs/bench
	cmd/zramfs/bench < cmd/zramfs/command
	cmd/zramfs/sample < cmd/zramfs/estimate
	codec < cmd/zramfs/estimate
	cmd/zramfs/estimate < cmd/zramfs/command
	cmd/zramfs/term < cmd/zramfs/dictionary
	codec < cmd/zramfs/dictionary
	cmd/zramfs/dictionary < cmd/zramfs/command
	cmd/zramfs/command < cmd/zramfs
	cmd/zramfs/command < tools/manuals
	internal/require < tools/manuals
	cmd/zramfs/limits < cmd/zramfs
	gpu/ptx < gpu/ptx/sim
	gpu/ptx < gpu/kernels
	gpu/ptx/sim < gpu/driver
	gpu/driver < gpu
	gpu/kernels < gpu
	codec/bulk < gpu

	internal/require < cmd/zramfs/awake
	internal/require < gpu/internal/ptxas
	internal/pages/pagefile < internal/require
	internal/require < internal/pages
	internal/pages < codec/internal/codectest
	integration/guest/boot < integration/guest
	integration/guest/boot < integration/guest/agent
	internal/require < integration/guest
	codec < tools/bench
	internal/pages < internal/trained
	codec < internal/trained
	internal/pages < tools/bench
	cmd/zramfs/awake < tools/bench
	cmd/zramfs/term < tools/bench
	gpu < tools/gpucheck
	internal/pages < tools/gpucheck
	loopsetup < tools/bench
	codec < tools/pagesample
	internal/pages < tools/pagesample
	procpages < tools/pagesample
	internal/criteria < tools/criteria
`

// seams names the packages that may import a library, so that each library can be replaced in one
// place.
var seams = map[string][]string{
	"github.com/hanwen/go-fuse":     {"fusefs", "cmd/zramfs/namespace"},
	"github.com/urfave/cli":         {"cmd/zramfs/command"},
	"github.com/pierrec/lz4":        {"codec/lz4", "internal/pages", "tools/pagesample"},
	"github.com/klauspost/compress": {"codec/zstd", "internal/pages", "tools/pagesample"},
	"github.com/gdamore/tcell":      {"cmd/zramfs/top"},
	"github.com/moby/sys":           {"cmd/zramfs", "fusefs"},
	"github.com/ebitengine/purego":  {"gpu/driver"},
	"github.com/prometheus/":        {"cmd/zramfs/exposition"},
}

// unsafeFiles lists the files that may use unsafe, outside of tests.
var unsafeFiles = []string{"store/internal/image/image.go", "loopsetup/swapon_linux.go", "fusefs/requests.go", "telemetry/area.go", "fusefs/receive_linux.go", "gpu/driver/cuda_block_linux.go", "integration/guest/agent/pageout_linux.go", "cmd/zramfs/prefetch/kernel_linux.go", "cmd/zramfs/protect/runtime_linux.go", "tools/mutants/noswap_linux.go", "internal/callfail/callfail_linux.go"}

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
		below, above, ok := strings.Cut(strings.TrimSpace(line), " < ")
		if ok {
			direct[above] = append(direct[above], below)
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
