// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

// A workload is a program with its arguments and input.
type workload struct {
	// name stands in the page file.
	name string
	// program is looked up in PATH; the workload is left out where it is missing.
	program string
	// args are the program's arguments; it runs in the directory with its files.
	args []string
	// files returns the files that the program works on, by name below the run's
	// directory: those in workDir are its working directory's.
	files func() (map[string]string, error)
	// enough is how many bytes of anonymous memory the process group must hold
	// before it is sampled.
	enough int64
}

// The directories of a run. They are three, because the go command takes no module
// in the directory for temporary files.
const (
	workDir = "work"
	homeDir = "home"
	tempDir = "tmp"
)

//go:embed workloads
var scripts embed.FS

// workloads returns all workloads that this program knows.
func workloads() []workload {
	const mib = 1 << 20
	return []workload{
		{name: "python", program: "python3", args: []string{"orders.py"}, files: script("orders.py"), enough: 40 * mib},
		{name: "gobuild", program: "go", args: []string{"build", "-o", "orders", "."}, files: goModule, enough: 160 * mib},
		{name: "gcc", program: "gcc", args: []string{"-O2", "-S", "-o", "out.s", "orders.c"}, files: cSource, enough: 64 * mib},
		{name: "node", program: "node", args: []string{"orders.js"}, files: script("orders.js"), enough: 64 * mib},
		{name: "java", program: "java", args: []string{"-Xmx256m", "-XX:-UsePerfData", "Orders.java"}, files: script("Orders.java"), enough: 160 * mib},
		{name: "perl", program: "perl", args: []string{"orders.pl"}, files: script("orders.pl"), enough: 32 * mib},
		{name: "awk", program: "awk", args: []string{"-f", "orders.awk"}, files: script("orders.awk"), enough: 24 * mib},
		{name: "sqlite", program: "sqlite3", args: []string{"-cmd", ".read orders.sql", ":memory:"}, files: script("orders.sql"), enough: 48 * mib},
		{name: "git", program: "git", args: []string{"diff", "--no-index", "--minimal", "--numstat", "old.c", "new.c"}, files: twoSources, enough: 24 * mib},
	}
}

// script returns the files of a workload that is one embedded script.
func script(name string) func() (map[string]string, error) {
	return func() (map[string]string, error) {
		text, err := scripts.ReadFile("workloads/" + name)
		if err != nil {
			return nil, err
		}
		return map[string]string{workDir + "/" + name: string(text)}, nil
	}
}

// install writes a workload's files below dir.
func (w workload) install(dir string) error {
	files, err := w.files()
	if err != nil {
		return fmt.Errorf("make files: %w", err)
	}
	for _, name := range []string{workDir, homeDir, tempDir} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return fmt.Errorf("make files: %w", err)
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make files: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("make files: %w", err)
		}
	}
	return nil
}
