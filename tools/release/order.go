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

// programs are what is built, in the directories cmd/NAME.
var programs = []string{"zramfs", "zramfs-monitor", "zramfs-node"}

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
	for _, step := range []func() error{s.build, s.manuals, s.licences, s.packages, s.image, s.bill, s.sums} {
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

// program is the path of a program for an architecture.
func (s *staging) program(arch, name string) string { return filepath.Join(s.dir, arch, name) }

// build compiles the programs by the Makefile, which has the flags, and copies them to the
// output directory.
func (s *staging) build() error {
	for _, arch := range s.arches {
		say("%s: build %s", arch, strings.Join(programs, ", "))
		if err := s.makefile([]string{"GOARCH=" + arch}, "build", "BIN="+filepath.Join(s.dir, arch)); err != nil {
			return err
		}
		for _, name := range programs {
			text, err := os.ReadFile(s.program(arch, name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(s.out, name+"-linux-"+arch), text, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// manuals writes manual pages and completions.
func (s *staging) manuals() error {
	say("manual pages and completions")
	return s.makefile(nil, "manuals", "MANUALS="+filepath.Join(s.dir, "manuals"), "DATE="+s.time().Format(time.DateOnly))
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
