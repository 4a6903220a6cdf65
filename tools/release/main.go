// SPDX-License-Identifier: Apache-2.0

// Command release makes packages (deb, rpm, apk), the container image, the programs, a bill of
// materials and checksums.
//
//	release make    -o DIR [-tree DIR] [-arch amd64,arm64]
//	release release -o DIR [-tree DIR] [-arch amd64,arm64]
//
// make makes everything once, of the tree as it is. release makes the last commit twice, each time
// from a copy of its own with an empty build cache, another user mask, time zone and language, and
// fails if one byte differs. `make packages` and `make release` run them. It is a module of its
// own: what writes packages is no part of what is in them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var errUsage = errors.New("use release make|release -o DIR [-tree DIR] [-arch LIST]")

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "release:", err)
	if errors.Is(err, errUsage) {
		os.Exit(2)
	}
	os.Exit(1)
}

func run(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	var o order
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("o", "", "write to this `DIR`, which is made anew")
	tree := flags.String("tree", ".", "the repository")
	arches := flags.String("arch", "amd64,arm64", "architectures, with commas")
	flags.StringVar(&o.version, "version", "", "as git describe prints it; by default what that says")
	flags.Int64Var(&o.epoch, "epoch", 0, "seconds since 1970 of the last commit; by default what git says")
	if err := flags.Parse(args[1:]); err != nil || *out == "" || flags.NArg() > 0 {
		return errUsage
	}
	o.arches = strings.Split(*arches, ",")
	var err error
	if o.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if o.tree, err = filepath.Abs(*tree); err != nil {
		return err
	}
	if err := o.ask(); err != nil {
		return err
	}
	switch args[0] {
	case "make":
		return o.make()
	case "release":
		return o.twice()
	}
	return errUsage
}

var began = time.Now()

// say tells what is done next, and since when the program runs.
func say(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "%5.0f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, a...))
}
