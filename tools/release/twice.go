// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// surroundings are what must not matter: each of the two makings has its own, with a directory and
// a build cache of its own.
var surroundings = []struct {
	umask       string
	environment []string
}{
	{"022", []string{"TZ=UTC", "LC_ALL=C"}},
	{"077", []string{"TZ=Pacific/Chatham", "LC_ALL=C.UTF-8", "GOMAXPROCS=1"}},
}

// twice makes everything of the last commit two times, and keeps the first if both are the same.
func (o *order) twice() error {
	if strings.HasSuffix(o.version, "-dirty") {
		say("what is not committed is left out")
		o.version = strings.TrimSuffix(o.version, "-dirty")
	}
	work, err := os.MkdirTemp("", "zramfs-release-")
	if err != nil {
		return err
	}
	defer func() {
		_ = exec.Command("chmod", "-R", "u+w", work).Run()
		_ = os.RemoveAll(work)
	}()
	var made []string
	for i := range surroundings {
		say("making %d of %d", i+1, len(surroundings))
		// Directories of different length, since programs hold paths where a flag is forgotten.
		dir := filepath.Join(work, strings.Repeat("deeper/", i)+"making"+strconv.Itoa(i))
		if err := o.once(dir, i); err != nil {
			return err
		}
		made = append(made, filepath.Join(dir, "out"))
	}
	if err := same(made[0], made[1]); err != nil {
		return err
	}
	say("both makings are the same; to %s", o.out)
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-r", made[0], o.out).CombinedOutput(); err != nil {
		return fmt.Errorf("copy to %s: %w: %s", o.out, err, out)
	}
	return nil
}

// once makes everything of a copy of the last commit in dir, in other surroundings.
func (o *order) once(dir string, i int) error {
	tree := filepath.Join(dir, "tree")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return err
	}
	umask := surroundings[i].umask
	export := exec.Command("sh", "-c", `umask "$0"; git -C "$1" archive HEAD | tar -xC "$2"`, umask, o.tree, tree)
	export.Stderr = os.Stderr
	if err := export.Run(); err != nil {
		return fmt.Errorf("copy the last commit: %w", err)
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	making := exec.Command("sh", "-c", `umask "$0"; exec "$@"`, umask, own, "make", "-tree", tree, "-o", filepath.Join(dir, "out"), "-arch", strings.Join(o.arches, ","),
		"-version", o.version, "-epoch", strconv.FormatInt(o.epoch, 10))
	making.Dir = dir
	making.Env = append(append(os.Environ(), "GOCACHE="+filepath.Join(dir, "cache")), surroundings[i].environment...)
	making.Stdout, making.Stderr = os.Stderr, os.Stderr
	return making.Run()
}

// same reports what differs between two directories.
func same(a, b string) error {
	first, err := hashes(a)
	if err != nil {
		return err
	}
	second, err := hashes(b)
	if err != nil {
		return err
	}
	names := maps.Clone(first)
	maps.Copy(names, second)
	var different []error
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if first[name] != second[name] && name != sumsFile {
			different = append(different, fmt.Errorf("%s: %q and %q", name, first[name], second[name]))
		}
	}
	if len(different) > 0 {
		return fmt.Errorf("two makings of one commit differ:\n%w", errors.Join(different...))
	}
	return nil
}
