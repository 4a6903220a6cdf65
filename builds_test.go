// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// ourTags are the build tags that a user may set. Those that Go sets itself are in goTags, and
// those that only tests have in testTags.
var (
	ourTags  = []string{"cuda", "invariants", "purego"}
	goTags   = []string{"amd64", "arm64", "linux", "race"}
	testTags = []string{"simulation"}
)

// constraints finds the build tags that files name.
func constraints(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	goFiles(t, func(path string, file *ast.File, _ string) {
		for _, group := range file.Comments {
			for _, c := range group.List {
				if !constraint.IsGoBuild(c.Text) || c.Pos() > file.Package {
					continue
				}
				x, err := constraint.Parse(c.Text)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					continue
				}
				named(x, found)
			}
		}
	})
	return slices.Sorted(maps.Keys(found))
}

// named adds the tags of a constraint.
func named(x constraint.Expr, found map[string]bool) {
	switch x := x.(type) {
	case *constraint.TagExpr:
		found[x.Tag] = true
	case *constraint.NotExpr:
		named(x.X, found)
	case *constraint.AndExpr:
		named(x.X, found)
		named(x.Y, found)
	case *constraint.OrExpr:
		named(x.X, found)
		named(x.Y, found)
	}
}

// compiles has packages compiled and linked nowhere, which is what go list -export needs. With
// -trimpath it shares what make build has compiled; with -race what the tests with it need.
func compiles(t *testing.T, environment []string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-export", "-f", `{{""}}`}, args...)...)
	cmd.Env = append(os.Environ(), append([]string{"GOTOOLCHAIN=local", "CGO_ENABLED=0"}, environment...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s go list -export %s: %v\n%s", strings.Join(environment, " "), strings.Join(args, " "), err, out)
	}
}

// vets has packages compiled, and their tests type-checked, which takes less than half the time of
// compiling those too; go vet then looks at both.
func vets(t *testing.T, arch, tags string) {
	t.Helper()
	compiles(t, []string{"GOARCH=" + arch}, "-trimpath", "-tags", tags, "./...")
	cmd := exec.Command("go", "vet", "-trimpath", "-tags", tags, "./...")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("GOARCH=%s go vet -tags %q: %v\n%s", arch, tags, err, out)
	}
}

// F088: every build tag that there is builds alone, with all tests, and so does the race detector,
// which needs a C compiler. F080: go vet finds nothing in any of them.
func TestF088EveryTagBuilds(t *testing.T) {
	all := slices.Sorted(slices.Values(slices.Concat(ourTags, goTags, testTags)))
	if found := constraints(t); !slices.Equal(found, all) {
		t.Fatalf("files name the tags %v, and this test knows %v", found, all)
	}
	for _, tag := range append([]string{""}, ourTags...) {
		for _, arch := range []string{"amd64", "arm64"} {
			vets(t, arch, tag)
		}
	}
	vets(t, "amd64", strings.Join(testTags, ","))
	t.Run("race", func(t *testing.T) {
		require.Command(t, "cc")
		compiles(t, []string{"CGO_ENABLED=1"}, "-race", "./...")
	})
}

// F093: every set of two or more tags builds (F088 builds each alone), and the program links with
// all.
func TestF093TagsCompose(t *testing.T) {
	for set := range 1 << len(ourTags) {
		var tags []string
		for i, tag := range ourTags {
			if set>>i&1 == 1 {
				tags = append(tags, tag)
			}
		}
		if len(tags) < 2 {
			continue
		}
		compiles(t, []string{"GOARCH=amd64"}, "-trimpath", "-tags", strings.Join(tags, ","), "./...")
	}
	vets(t, "amd64", strings.Join(ourTags, ","))
	compiles(t, []string{"GOARCH=arm64"}, "-trimpath", "-tags", strings.Join(ourTags, ","), "./...")
	t.Run("race", func(t *testing.T) {
		require.Command(t, "cc")
		compiles(t, []string{"CGO_ENABLED=1"}, "-race", "-tags", strings.Join(ourTags, ","), "./...")
	})
	goTool(t, "build", "-trimpath", "-tags", strings.Join(ourTags, ","), "-o", os.DevNull, "./cmd/zramfs")
}

// purePackages are those without a system call of their own: they build where there is no Linux.
var purePackages = []string{
	"./codec", "./codec/bulk", "./codec/lz4", "./codec/page", "./codec/pagescan", "./codec/zstd", "./gpu/kernels", "./gpu/ptx", "./gpu/ptx/sim",
}

// F095: the pure packages build for WebAssembly, and nothing that reaches a GPU comes along,
// whatever the tags say.
func TestF095NoGPUCodeInWASM(t *testing.T) {
	for _, system := range []string{"js", "wasip1"} {
		t.Run(system, func(t *testing.T) {
			environment := []string{"GOOS=" + system, "GOARCH=wasm", "GOTOOLCHAIN=local", "CGO_ENABLED=0"}
			args := append([]string{"list", "-export", "-deps", "-tags", "cuda", "-f", `{{.ImportPath}}`}, purePackages...)
			cmd := exec.Command("go", args...)
			cmd.Env = append(os.Environ(), environment...)
			var complaints strings.Builder
			cmd.Stderr = &complaints
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, complaints.String())
			}
			deps := strings.Fields(string(out))
			for _, p := range purePackages {
				if !slices.Contains(deps, module+strings.TrimPrefix(p, ".")) {
					t.Errorf("%s was not built", p)
				}
			}
			for _, p := range deps {
				if err := reachesGPU(p); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// reachesGPU is an error for a package that is there to reach a device.
func reachesGPU(p string) error {
	for _, forbidden := range []string{"github.com/ebitengine/purego", module + "/gpu/driver", "golang.org/x/sys/unix"} {
		if p == forbidden || strings.HasPrefix(p, forbidden+"/") {
			return fmt.Errorf("%s is part of it", p)
		}
	}
	return nil
}
