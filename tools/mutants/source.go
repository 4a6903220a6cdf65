// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed active.go.txt
var active []byte

const (
	module = "github.com/zramfs/zramfs"
	tags   = "-tags=invariants"
)

// A listed package is what "go list" says of it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func list(arguments ...string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", tags, "-json=ImportPath,Dir,Export,GoFiles"}, arguments...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// sources are those of a package, and all the mutants in them.
type sources struct {
	root, dir string            // of the module, and where rewritten sources go
	text      map[string][]byte // by path below the root
	mutants   []*mutant
}

// load parses and checks a package, and finds its mutants.
func load(root, dir, name string) (*sources, error) {
	all, err := list("-export", "-deps", "./"+name)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	p := all[len(all)-1]
	s := &sources{root: root, dir: dir, text: map[string][]byte{}}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range p.GoFiles {
		path := filepath.Join(name, f)
		if s.text[path], err = os.ReadFile(path); err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(fset, path, s.text[path], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	if _, err := config.Check(p.ImportPath, fset, files, info); err != nil {
		return nil, err
	}
	for _, file := range files {
		tokens := fset.File(file.Pos())
		f := &finder{file: tokens.Name(), source: s.text[tokens.Name()], tokens: tokens, info: info}
		ast.Inspect(file, f.visit)
		s.mutants = append(s.mutants, f.mutants...)
	}
	return s, nil
}

// write writes the sources with these mutants, and the overlay.
func (s *sources) write(mutants []*mutant) error {
	replace := map[string]string{}
	put := func(name string, text []byte) error {
		to := filepath.Join(s.dir, name)
		replace[filepath.Join(s.root, name)] = to
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	}
	if err := put("internal/mutating/mutating.go", active); err != nil {
		return err
	}
	byFile := map[string][]*mutant{}
	for i, m := range mutants {
		m.number = i
		byFile[m.file] = append(byFile[m.file], m)
	}
	clause := regexp.MustCompile(`(?m)^package \w+`)
	for name, of := range byFile {
		text := rewrite(s.text[name], of)
		at := clause.FindIndex(text)[1]
		text = append(append(append([]byte{}, text[:at]...), `; import mutating_ "`+module+`/internal/mutating"`...), text[at:]...)
		if err := put(name, text); err != nil {
			return err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(s.overlay(), text, 0o644)
}

func (s *sources) overlay() string { return filepath.Join(s.dir, "overlay.json") }

// compilable leaves out mutants on lines that the compiler refuses.
func (s *sources) compilable(name string) error {
	at := regexp.MustCompile(`(?m)^(?:\./)?([^\s:]+):(\d+):\d+: `)
	for range 10 {
		if err := s.write(s.mutants); err != nil {
			return err
		}
		out, err := exec.Command("go", "build", tags, "-gcflags="+module+"/"+name+"=-e", "-overlay", s.overlay(), "./"+name).CombinedOutput()
		if err == nil {
			return nil
		}
		bad := map[string]bool{}
		for _, m := range at.FindAllSubmatch(out, -1) {
			path := string(m[1])
			if rel, err := filepath.Rel(s.dir, absolute(s.root, path)); err == nil && !strings.HasPrefix(rel, "..") {
				path = rel
			}
			bad[path+":"+string(m[2])] = true
		}
		var kept []*mutant
		for _, m := range s.mutants {
			if !bad[m.file+":"+strconv.Itoa(m.line)] {
				kept = append(kept, m)
			}
		}
		if len(kept) == len(s.mutants) {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
		s.mutants = kept
	}
	return fmt.Errorf("%s: still not compiled", name)
}

func absolute(root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

// sample draws n mutants, of each file as large a part.
func sample(all []*mutant, n int, seed uint64) (drawn []*mutant) {
	random := rand.New(rand.NewPCG(seed, 17))
	for done, begin := 0, 0; begin < len(all); {
		end := begin
		for end < len(all) && all[end].file == all[begin].file {
			end++
		}
		share := min((n*end+len(all)-1)/len(all)-done, end-begin) // of a sum that is rounded
		places := random.Perm(end - begin)[:max(share, 0)]
		slices.Sort(places) // an outer expression goes before its parts
		for _, i := range places {
			drawn = append(drawn, all[begin+i])
		}
		done, begin = done+max(share, 0), end
	}
	return drawn
}
