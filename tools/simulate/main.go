// SPDX-License-Identifier: Apache-2.0

// Command simulate rewrites the sources of the packages that the simulation runs for package
// internal/simkernel, and writes a file for "go build -overlay" that has the compiler take the
// rewritten ones: locks, timers, goroutines, channel operations and system calls become those of
// the world, and each statement begins with simkernel.Step. Each line keeps its number.
//
//	go run ./tools/simulate -o DIR             writes DIR/overlay.json
//	go run ./tools/simulate -o DIR -plant 3    with the third fault planted
//	go run ./tools/simulate -faults            lists the faults that can be planted
//	go run ./tools/simulate -o DIR -overlay F  rewrites the sources that overlay F has
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// rewritten are the packages and, of each, the files; all of them where none is named.
var rewritten = map[string][]string{
	"store":                {},
	"store/internal/image": {},

	"internal/idlework": {},
	"fusefs": {
		"attributes.go", "attributes_algorithm.go", "attributes_backing.go", "attributes_set.go", "settings.go", "connection_linux.go", "data.go", "fallocate_linux.go",
		"filesystem.go", "mapping_linux.go", "options.go", "pace.go", "pressure_linux.go", "receive_linux.go", "recover_linux.go", "requests.go", "sealed.go",
		"server_linux.go", "session_linux.go", "snapshots.go", "budget.go", "telemetry_linux.go", "thread_linux.go",
	},
}

func main() {
	dir := flag.String("o", "", "the directory to write to")
	number := flag.Int("plant", 0, "the number of a fault to plant; 0 for none")
	list := flag.Bool("faults", false, "list the faults")
	below := flag.String("overlay", "", "an overlay with sources to take in the place of the module's")
	flag.Parse()
	switch {
	case *list:
		for i, f := range faults {
			fmt.Printf("%d\t%s\n", i+1, f.name)
		}
		return
	case *dir == "" || flag.NArg() > 0 || *number < 0 || *number > len(faults):
		fmt.Fprintf(os.Stderr, "usage: simulate -o DIR [-plant 1 to %d] [-overlay FILE]; simulate -faults\n", len(faults))
		os.Exit(2)
	}
	var f *fault
	if *number > 0 {
		f = &faults[*number-1]
	}
	if err := run(*dir, f, *below); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// An overlay is what "go build -overlay" reads: files by the path that they stand in for.
type overlay struct{ Replace map[string]string }

// readOverlay returns an overlay without files where there is no path.
func readOverlay(path string) (o overlay, err error) {
	o.Replace = map[string]string{}
	if path == "" {
		return o, nil
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// run writes the rewritten sources, with a fault if there is one, and the overlay below dir.
// Sources that another overlay has, if one is named, come from there.
func run(dir string, f *fault, other string) error {
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := check(root); err != nil {
		return err
	}
	below, err := readOverlay(other)
	if err != nil {
		return err
	}
	overlay := overlay{maps.Clone(below.Replace)}
	write := func(name string, change func(path string, source []byte) ([]byte, error)) error {
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		at, ok := below.Replace[from]
		if !ok {
			at = from
		}
		text, err := os.ReadFile(at)
		if err == nil {
			text, err = plant(f, root, from, text)
		}
		if err == nil {
			text, err = change(from, text)
		}
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		overlay.Replace[from] = to
		return nil
	}
	for pkg, files := range rewritten {
		if len(files) == 0 {
			if files, err = sources(filepath.Join(root, pkg)); err != nil {
				return err
			}
		}
		for _, name := range files {
			if err := write(filepath.Join(pkg, name), rewrite); err != nil {
				return err
			}
		}
	}
	if f != nil && overlay.Replace[filepath.Join(root, f.file)] == "" { // of a package that is compiled as it is
		if err := write(f.file, func(_ string, source []byte) ([]byte, error) { return source, nil }); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(overlay, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644)
}

// sources are the files of a package that this machine compiles with self-checks.
func sources(dir string) ([]string, error) {
	c := build.Default
	c.BuildTags = append(c.BuildTags, "invariants")
	p, err := c.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, f := range p.GoFiles {
		if !strings.HasSuffix(f, "_test.go") {
			files = append(files, f)
		}
	}
	return files, nil
}
