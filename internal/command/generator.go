// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/generator"
	"github.com/zramfs/zramfs/internal/host"
)

const (
	generatorName = "zramfs-generator"
	// generatorRoot names the environment variable with a directory to read in place of /, for
	// tests: containers do not matter then.
	generatorRoot = "ZRAMFS_GENERATOR_ROOT"
)

// Severities of the kernel's log.
const (
	sayError   = 3
	sayWarning = 4
	sayInfo    = 6
)

// isGenerator reports whether systemd started the program as a generator.
func isGenerator(args []string) bool {
	return len(args) > 0 && filepath.Base(args[0]) == generatorName
}

// runGenerator is run for a program that systemd started as a generator: before the journal is
// there, so that it speaks to the kernel's log.
func runGenerator(args []string, stderr io.Writer) int {
	root, test := os.LookupEnv(generatorRoot)
	g := &generatorRun{root: host.Root(root), test: test, out: stderr}
	if !test {
		g.root = host.Local
		if log, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0); err == nil {
			defer func() { _ = log.Close() }() // each line is written by then
			g.out = log
		}
	}
	if len(args) != 2 && len(args) != 4 {
		g.say(sayError, "systemd calls this program with one or three directories, not with %d", len(args)-1)
		return exitUsage
	}
	if err := g.write(args[1]); err != nil {
		for _, err := range flatten(err) {
			g.say(sayError, "%v", err)
		}
		return exitFailure
	}
	return exitOK
}

// flatten returns the errors that are joined in err.
func flatten(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// A generatorRun is one run of the generator. It is used by one goroutine.
type generatorRun struct {
	root host.Root
	test bool // of the tests
	out  io.Writer
}

// say writes one line of that severity. A log that takes none is the last place to report to.
func (g *generatorRun) say(severity int, format string, args ...any) {
	_, _ = fmt.Fprintf(g.out, "<%d>%s[%d]: %s\n", severity, generatorName, os.Getpid(), fmt.Sprintf(format, args...))
}

// write writes the units below dir. The error has every problem of the configuration; a device with
// one gets its unit too, whose failure shows it.
func (g *generatorRun) write(dir string) error {
	conf, err := loadRoot(newApp(io.Discard, io.Discard), g.root)
	if err != nil {
		return err
	}
	answer, wrong := generator.WantedBy(g.root)
	failed := []error{wrong}
	for _, p := range conf.Problems {
		failed = append(failed, errors.New(p.String()))
	}
	all := g.devices(conf, answer)
	switch container := generator.Container(g.root, os.Getenv); {
	case len(all) == 0:
	case answer == generator.No:
		g.say(sayInfo, "no device: the kernel's command line forbids it")
	case container != "" && !g.test:
		g.say(sayInfo, "no device: this is a container of %s", container)
	default:
		failed = append(failed, generator.Write(g.root, dir, all))
	}
	return errors.Join(failed...)
}

// devices returns the devices that a unit is to start.
func (g *generatorRun) devices(conf *config.Config, answer generator.Answer) (all []generator.Device) {
	for _, s := range conf.Sections {
		if s.Off != "" {
			g.say(sayInfo, "[%s] is left out: %s", s.Name, s.Off)
			continue
		}
		d := generator.Device{Name: s.Name, Dir: s.Dir, Source: s.File}
		for _, at := range s.Settings {
			if at.Note != "" {
				g.say(sayInfo, "%s:%d: %s = %s is taken as %s: %s", at.File, at.Line, at.Key, at.Written, at.Value, at.Note)
			}
			if at.Flag == flagSpill {
				d.Spill = filepath.Clean(at.Value)
			}
		}
		all = append(all, d)
	}
	// With zram-generator here the word is for that.
	if answer == generator.Yes && conf.Named(config.FirstName) == nil && !generator.HasZramGenerator(g.root) {
		all = append(all, generator.Device{Name: config.FirstName, Dir: conf.Dir(config.FirstName)})
	}
	return all
}
