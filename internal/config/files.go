// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
)

const (
	fileName = "zramfs.conf"
	maxFile  = 1 << 20 // bytes
)

// places are the directories of configuration files. A file in an earlier one hides the file of the
// same name in a later one.
var places = []string{"run", "etc", "usr/local/lib", "usr/lib"}

// PlacesText names the files that [Load] looks for; it reads the first that exists.
func PlacesText() string {
	all := make([]string, len(places))
	for i, dir := range places {
		all[i] = "/" + dir + "/" + fileName
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

// find returns the files to read, the main one first, then the drop-ins by name. A link to
// /dev/null hides files and is none.
func find(root host.Root) ([]string, error) {
	main, err := findMain(root)
	if err != nil {
		return nil, err
	}
	byName := map[string]string{}
	for _, place := range places {
		dir := place + "/" + fileName + ".d"
		entries, err := os.ReadDir(root.Path(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, entry := range entries {
			name := entry.Name()
			if _, hidden := byName[name]; !hidden && strings.HasSuffix(name, ".conf") && !strings.HasPrefix(name, ".") {
				byName[name] = dir + "/" + name
			}
		}
	}
	all := main
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return slices.DeleteFunc(all, func(file string) bool { return masks(root.Path(file)) }), nil
}

// findMain returns the main file, if there is one.
func findMain(root host.Root) ([]string, error) {
	for _, place := range places {
		file := place + "/" + fileName
		_, err := os.Lstat(root.Path(file))
		if err == nil {
			return []string{file}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, nil
}

// masks reports whether path is a link to /dev/null.
func masks(path string) bool {
	target, err := os.Readlink(path)
	return err == nil && target == os.DevNull
}
