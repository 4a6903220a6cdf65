// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// release is Main's version; set before any command runs, immutable afterwards.
var release string

// buildInfo describes the build of the running program.
type buildInfo struct {
	Version  string   `json:"version"`  // release, or the module version, or "devel"
	Revision string   `json:"revision"` // commit, with "+modified" if the tree was not clean; "unknown" without version control
	Go       string   `json:"go"`       // as runtime.Version
	Platform string   `json:"platform"` // as linux/amd64
	Engines  []string `json:"engines"`  // the kinds of engine that bulk work can use, other than the processors
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version, the revision it was built from, the Go version and the kinds of engine",
		Flags: []cli.Flag{&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("version: takes no arguments")
			}
			if c.Bool(flagJSON) {
				return printJSON(c.App.Writer, map[string]buildInfo{"version": readBuildInfo()})
			}
			return printVersion(c.App.Writer)
		},
	}
}

func printVersion(w io.Writer) error {
	b := readBuildInfo()
	with := ""
	for _, name := range b.Engines {
		with += ", with " + name
	}
	_, err := fmt.Fprintf(w, "zramfs %s (revision %s, %s, %s%s)\n", b.Version, b.Revision, b.Go, b.Platform, with)
	return err
}

// programVersion is the version alone, as status shows it.
func programVersion() string { return readBuildInfo().Version }

func readBuildInfo() buildInfo {
	b := buildInfo{
		Version:  "devel",
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
	if release != "" {
		b.Version = release
	}
	return b
}

// take reads the build information that the Go command left in the binary.
func (b *buildInfo) take(info *debug.BuildInfo) {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
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
