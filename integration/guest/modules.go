// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A moduleTree finds the modules of a kernel by name, and what each needs.
type moduleTree map[string]string // path on the host, by name with underscores; empty where it is built in

func findModules(root string) (moduleTree, error) {
	tree := moduleTree{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "modules.builtin" {
			text, err := os.ReadFile(path)
			for line := range strings.Lines(string(text)) {
				tree[moduleName(strings.TrimSuffix(filepath.Base(strings.TrimSpace(line)), ".ko"))] = ""
			}
			return err
		}
		if name, ok := strings.CutSuffix(d.Name(), ".ko"); ok && err == nil {
			tree[moduleName(name)] = path
		}
		return err
	})
	return tree, err
}

func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// order returns the paths of modules, after those that they need.
func (m moduleTree) order(names []string) ([]string, error) {
	var paths []string
	done := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		name = moduleName(name)
		if done[name] {
			return nil
		}
		done[name] = true
		path, ok := m[name]
		if !ok {
			return fmt.Errorf("the kernel has no module %s", name)
		}
		if path == "" {
			return nil
		}
		needed, err := needs(path)
		if err != nil {
			return err
		}
		for _, n := range needed {
			if err := add(n); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		paths = append(paths, path)
		return nil
	}
	for _, n := range names {
		if err := add(n); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// needs reads which modules a module needs, from what the kernel's build wrote into it.
func needs(path string) ([]string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	section := file.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("%s is no kernel module", path)
	}
	text, err := section.Data()
	if err != nil {
		return nil, err
	}
	for field := range strings.SplitSeq(string(text), "\x00") {
		if list, ok := strings.CutPrefix(field, "depends="); ok && list != "" {
			return strings.Split(list, ","), nil
		}
	}
	return nil, nil
}
