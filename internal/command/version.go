// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/zramfsd"
)

// release is Main's version; set before any command runs, immutable afterwards.
var release string

// buildInfo describes the build of the running program.
type buildInfo struct {
	Version  string     `json:"version"`  // release, or the module version, or "devel"
	Revision string     `json:"revision"` // commit, with "+modified" if the tree was not clean; "unknown" without version control
	Go       string     `json:"go"`       // as runtime.Version
	Platform string     `json:"platform"` // as linux/amd64
	Engines  []string   `json:"engines"`  // the kinds of engine that bulk work can use, other than the processors
	Server   serverInfo `json:"server"`   // the program that mount and up start
}

// serverInfo describes the server, which mount and up start.
type serverInfo struct {
	Path    string `json:"path"`            // empty where there is none
	Version string `json:"version"`         // empty where it cannot be run
	Error   string `json:"error,omitempty"` // why Path or Version is empty
}

// versionTime bounds the wait for the server's version.
const versionTime = 5 * time.Second

// findServer returns the server and its version.
func findServer(ctx context.Context) (s serverInfo) {
	var err error
	if s.Path, err = zramfsd.Find(); err == nil {
		ctx, cancel := context.WithTimeout(ctx, versionTime)
		defer cancel()
		var out []byte
		out, err = exec.CommandContext(ctx, s.Path, "--version").Output()
		if s.Version = strings.TrimSpace(string(out)); err == nil && s.Version == "" {
			err = errors.New("it prints no version")
		}
	}
	if err != nil {
		s.Error = strings.TrimPrefix(fmt.Sprintf("%s: %v", s.Path, err), ": ")
	}
	return s
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the versions of zramfs and of its server, zramfsd",
		Flags: []cli.Flag{&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("version: takes no arguments")
			}
			if c.Bool(flagJSON) {
				b := readBuildInfo()
				b.Server = findServer(c.Context)
				return printJSON(c.App.Writer, map[string]buildInfo{"version": b})
			}
			return printVersion(c.Context, c.App.Writer)
		},
	}
}

func printVersion(ctx context.Context, w io.Writer) error {
	b := readBuildInfo()
	with := ""
	for _, name := range b.Engines {
		with += ", with " + name
	}
	line := "no zramfsd: "
	if s := findServer(ctx); s.Error != "" {
		line += s.Error
	} else {
		line = fmt.Sprintf("zramfsd %s (%s)", s.Version, s.Path)
	}
	_, err := fmt.Fprintf(w, "zramfs %s (revision %s, %s, %s%s)\n%s\n", b.Version, b.Revision, b.Go, b.Platform, with, line)
	return err
}

func readBuildInfo() buildInfo {
	b := buildInfo{
		Version:  zramfsd.Version(release),
		Revision: "unknown",
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Engines:  []string{},
	}
	for _, k := range engineKinds {
		b.Engines = append(b.Engines, k.Name)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.take(info)
	}
	return b
}

// take reads the revision that the Go command left in the binary.
func (b *buildInfo) take(info *debug.BuildInfo) {
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified && b.Revision != "unknown" {
		b.Revision += "+modified"
	}
}
