// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A module is something that programs contain and others have written.
type module struct {
	name, version, url string
	sum                string          // h1: of go.sum; empty where there is none
	texts              []string        // licence, and notices that go with it
	in                 map[string]bool // the programs that contain it
}

// standardLibrary and plots are what programs contain without being modules of theirs.
const (
	standardLibrary = "std"
	plots           = "uPlot"
)

var plotsVersion = regexp.MustCompile(`\(v([0-9.]+)\)`)

// licences finds out what the programs contain, and writes the text that has to come with them.
func (s *staging) licences() error {
	found := map[string]*module{}
	add := func(program string, m module) {
		if found[m.name] == nil {
			m.in = map[string]bool{}
			found[m.name] = &m
		}
		found[m.name].in[program] = true
	}
	for _, program := range programs {
		name := filepath.Base(program)
		info, err := buildinfo.ReadFile(filepath.Join(s.installed(s.arches[0]), program))
		if err != nil {
			return err
		}
		add(name, module{name: standardLibrary, version: strings.TrimPrefix(info.GoVersion, "go"), url: "https://go.dev"})
		for _, d := range info.Deps {
			add(name, module{name: d.Path, version: d.Version, sum: d.Sum, url: "https://pkg.go.dev/" + d.Path})
		}
	}
	version, err := s.plots()
	if err != nil {
		return err
	}
	add("zramfs", module{name: plots, version: version, url: "https://github.com/leeoniya/uPlot"})
	if err := s.texts(found); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		s.modules = append(s.modules, *found[name])
	}
	return s.write("THIRD-PARTY", s.thirdParty())
}

// plots returns the version of the JavaScript library in the dashboard.
func (s *staging) plots() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.tree, "internal/web/static/uplot.js"))
	if err != nil {
		return "", err
	}
	m := plotsVersion.FindSubmatch(text[:min(len(text), 200)])
	if m == nil {
		return "", errors.New("uplot.js does not begin with its version")
	}
	return string(m[1]), nil
}

// texts reads the licences of all modules.
func (s *staging) texts(found map[string]*module) error {
	list := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Dir}}", "all")
	list.Dir, list.Stderr = s.tree, os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list -m all: %w", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs[path] = dir
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	dirs[standardLibrary] = strings.TrimSpace(string(root))
	for name, m := range found {
		patterns := []string{"LICENSE*", "LICENCE*", "COPYING*", "NOTICE*"}
		dir := dirs[name]
		if name == plots {
			dir, patterns = filepath.Join(s.tree, "LICENSES"), []string{plots + ".txt"}
		}
		if m.texts, err = readTexts(dir, patterns); err != nil {
			return fmt.Errorf("licence of %s: %w", name, err)
		}
	}
	return nil
}

func readTexts(dir string, patterns []string) (texts []string, err error) {
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			texts = append(texts, strings.TrimSpace(string(text)))
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("no file %s in %q", strings.Join(patterns, " or "), dir)
	}
	return texts, nil
}

// apache is the Apache licence in a text, which every package has once, or which the system has.
var apache = regexp.MustCompile(`(?s)[ \t]*Apache License\s+Version 2\.0.*?(END OF TERMS AND CONDITIONS|limitations under the License\.)(\s+APPENDIX:.*?limitations under the License\.)?`)

// thirdParty returns the licences of what others have written.
func (s *staging) thirdParty() string {
	var out bytes.Buffer
	fmt.Fprintf(&out, "The programs contain the following, under the licences below each name.\n")
	for _, m := range s.modules {
		fmt.Fprintf(&out, "\n%s\n%s %s, in %s\n%s\n\n", strings.Repeat("-", 78), m.name, m.version, strings.Join(slices.Sorted(maps.Keys(m.in)), ", "), m.url)
		for _, text := range m.texts {
			out.WriteString(apache.ReplaceAllLiteralString(text, "Licensed under the Apache License, Version 2.0.") + "\n\n")
		}
	}
	return out.String()
}

// write makes a file of the staging directory.
func (s *staging) write(name, text string) error {
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
