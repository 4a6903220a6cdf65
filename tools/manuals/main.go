// SPDX-License-Identifier: Apache-2.0

// Command manuals writes the manual pages of zramfs and of its configuration, and completions for
// bash, zsh and fish.
//
//	manuals -o DIR [-date YYYY-MM-DD] [-version VERSION]
//
// All come from the command tree, and what that does not have from README.md and docs/commands.md,
// so it runs in the root of the repository. Below DIR the files lie as below /usr. `make manuals`
// runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zramfs/zramfs/internal/command"
)

// A book is what the files are made of.
type book struct {
	program       command.Description
	commands      []command.Description
	readme        string // the text of README.md
	reference     string // and of docs/commands.md
	date, version string
}

// files has the path of each file below DIR, and what writes it.
var files = map[string]func(book) (string, error){
	"share/man/man8/zramfs.8":                     manual,
	"share/man/man5/zramfs.conf.5":                configuration,
	"share/bash-completion/completions/zramfs":    bash,
	"share/zsh/site-functions/_zramfs":            zsh,
	"share/fish/vendor_completions.d/zramfs.fish": fish,
}

func main() {
	dir := flag.String("o", "", "write to this directory")
	date := flag.String("date", "1970-01-01", "the day of the last change")
	version := flag.String("version", "devel", "the version of the program")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*dir, ".", *date, *version); err != nil {
		fmt.Fprintln(os.Stderr, "manuals:", err)
		os.Exit(1)
	}
}

// write makes all files below dir.
func write(dir, root, date, version string) error {
	b, err := read(root)
	if err != nil {
		return err
	}
	b.date, b.version = date, version
	for name, makeText := range files {
		text, err := makeText(b)
		if err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// read reads what the files are made of, but for date and version.
func read(root string) (book, error) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return book{}, err
	}
	reference, err := os.ReadFile(filepath.Join(root, "docs/commands.md"))
	if err != nil {
		return book{}, err
	}
	b := book{readme: string(readme), reference: string(reference)}
	b.program, b.commands = command.Describe()
	return b, nil
}
