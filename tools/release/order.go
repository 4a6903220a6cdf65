// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// An order says what the tool makes, and of what tree. It does not change after ask.
type order struct {
	tree, out string
	arches    []string
	version   string // as git describe prints it
	epoch     int64  // the time of the last commit: nothing made has another time
}

// programs are the paths of all programs below the root of a machine.
var programs = []string{"usr/bin/zramfs", "usr/libexec/zramfsd"}

func (o *order) time() time.Time { return time.Unix(o.epoch, 0).UTC() }

// ask fills in from git what the command line did not say.
func (o *order) ask() error {
	if o.version == "" {
		said, err := git(o.tree, "describe", "--tags", "--always", "--dirty", "--abbrev=12")
		if err != nil {
			return err
		}
		o.version = said
	}
	if o.epoch == 0 {
		said, err := git(o.tree, "log", "-1", "--format=%ct")
		if err != nil {
			return err
		}
		if o.epoch, err = strconv.ParseInt(said, 10, 64); err != nil {
			return err
		}
	}
	return nil
}

func git(tree string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", tree}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// make makes everything once. Its intermediate files lie in a directory that it removes.
func (o *order) make() error {
	stage, err := os.MkdirTemp("", "zramfs-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	s := &staging{order: o, dir: stage}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	for _, step := range []func() error{s.install, s.licences, s.archives, s.packages, s.image, s.bill, s.sums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// A staging is an order with the files that packages are made of, below dir. It is used by one
// goroutine.
type staging struct {
	*order
	dir     string
	modules []module // what the programs are made of, set by licences
}

// installed is the directory with what goes below / for an architecture.
func (s *staging) installed(arch string) string { return filepath.Join(s.dir, arch) }

// install has the Makefile compile the programs and install them, with all that goes below /usr, in
// a directory for each architecture.
func (s *staging) install() error {
	for _, arch := range s.arches {
		say("%s: build and install", arch)
		err := s.makefile([]string{"GOARCH=" + arch}, "install", "BIN="+filepath.Join(s.dir, "bin", arch), "PREFIX=/usr", "DESTDIR="+s.installed(arch),
			"DATE="+s.time().Format(time.DateOnly))
		if err != nil {
			return err
		}
	}
	return nil
}

// makefile runs a target of the tree's Makefile. Of the environment only what Go needs to work
// gets through: what it says about compiling would be in the programs.
func (s *staging) makefile(environment []string, args ...string) error {
	cmd := exec.Command("make", append([]string{"--no-print-directory", "-s", "-C", s.tree, "VERSION=" + s.version}, args...)...)
	cmd.Env = append(environment, "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local", "GOWORK=off")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TZ", "LC_ALL", "GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GONOSUMDB",
		"GOPRIVATE", "HTTPS_PROXY", "SSL_CERT_FILE"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("make %s: %w", args[0], err)
	}
	return nil
}
