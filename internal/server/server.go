// SPDX-License-Identifier: Apache-2.0

// Package server is the program zramfsd. Its first argument chooses one of three processes:
//
//	zramfsd keeper FLAG... -- DIR        holds a device, and starts and replaces its workers
//	zramfsd worker FLAG... -- DIR        serves it
//	zramfsd ballast FLAG... -- AREA...   makes the kernel free swap slots
//
// A device locks all of the program in memory, so it links little: no command, no HTTP, no
// templates. server_test.go lists its packages.
package server

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

const help = `zramfsd is the server of zramfs: it keeps compressed pages in memory and serves them as a file.
It is started by zramfs: see zramfs --help, and man zramfs.
usage: zramfsd keeper|worker|ballast FLAG... -- ARG...; zramfsd --version
`

// release is Main's version; set before any process begins its work, immutable afterwards.
var release string

// Main runs the program with its arguments and returns the exit code; args[0] is the program's
// name. version is a release's, empty for other builds. Call it once.
func Main(version string, args []string) int {
	release = version
	word, rest := "", []string(nil)
	if len(args) > 1 {
		word, rest = args[1], args[2:]
	}
	err := codec.CheckEnvironment()
	switch word {
	case zramfsd.Keeper:
		err = keep(rest, err)
	case zramfsd.Worker:
		err = work(rest)
	case zramfsd.Ballast:
		err = holdBallast(rest)
	case "--version":
		_, err = fmt.Println(zramfsd.Version(release))
	case "--help", "-h":
		_, err = fmt.Print(help)
	default:
		_, _ = fmt.Fprint(os.Stderr, help) // as below
		return 2
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return 1
	}
	// The user has started zramfs. Standard error is the last place to report to: a
	// failure to write there is lost.
	_, _ = fmt.Fprintf(os.Stderr, "zramfs: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	var start *status.StartError
	if errors.As(err, &start) {
		return start.Code
	}
	return 1
}

func holdBallast(args []string) error {
	cfg, err := ballast.ParseArgs(args)
	if err != nil {
		return err
	}
	groups, _ := host.Local.MemoryHierarchy() // without it the process stays in its cgroup
	cfg.Groups = groups.Top
	return ballast.Run(cfg)
}
