// SPDX-License-Identifier: Apache-2.0

// Command manuals writes the manual pages of zramfs, of each command and of the configuration, and
// completions for bash, zsh and fish.
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
	"log"
	"os"
	"path/filepath"

	"github.com/zramfs/zramfs/internal/command"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("manuals: ")
	dir := flag.String("o", "bin/manuals", "write to this directory")
	date := flag.String("date", "1970-01-01", "the day of the last change")
	version := flag.String("version", "devel", "the version of the program")
	flag.Parse()
	if err := write(*dir, ".", *date, *version); err != nil {
		log.Fatal(err)
	}
}

// write makes all files below dir from the repository at root.
func write(dir, root, date, version string) error {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return err
	}
	reference, err := os.ReadFile(filepath.Join(root, "docs/commands.md"))
	if err != nil {
		return err
	}
	app := command.Tree()
	fishScript, err := fish(app)
	if err != nil {
		return err
	}
	pages := map[string]string{
		"zramfs.8":      overview(app, string(readme), string(reference)),
		"zramfs.conf.5": configuration(string(reference)),
	}
	for _, c := range app.VisibleCommands() {
		pages[fmt.Sprintf("%s-%s.8", app.Name, c.Name)] = commandPage(app, c)
	}
	files := map[string]string{
		"share/bash-completion/completions/zramfs":    completion(bashScript, app),
		"share/zsh/site-functions/_zramfs":            completion(zshScript, app),
		"share/fish/vendor_completions.d/zramfs.fish": fishScript,
	}
	for name, text := range pages {
		section := filepath.Ext(name)[1:]
		files[filepath.Join("share/man/man"+section, name)] = man(name, text, date, version)
	}
	for name, text := range files {
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
