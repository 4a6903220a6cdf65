// SPDX-License-Identifier: Apache-2.0

package command

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/swapdev"
)

const flagConfigRoot = "config-root"

// rivals are groups of flags: a call has at most one flag of each. One on the command line keeps
// the configuration from setting another.
var rivals = [][]string{{flagVerbose, flagQuiet, flagJSON}}

func configRootFlag() cli.Flag {
	return &cli.StringFlag{Name: flagConfigRoot, Value: string(host.Local),
		Usage: "read the configuration of the system below `DIR`"}
}

// choosing are the flags of up that say which device and which configuration: they are no keys.
var choosing = []string{flagAll, flagSection, flagConfigRoot}

// configFlags returns the flags of up that are keys: all but hidden ones and those that choose.
func configFlags() (all []config.Flag) {
	for _, f := range upCommand().VisibleFlags() {
		name := f.Names()[0]
		if slices.Contains(choosing, name) || f == cli.HelpFlag {
			continue
		}
		_, yes := f.(*cli.BoolFlag)
		all = append(all, config.Flag{Name: name, Yes: yes})
	}
	return all
}

// loadConfig reads the configuration that c asks for, and checks all values.
func loadConfig(c *cli.Context) (*config.Config, error) {
	root := host.Root(c.String(flagConfigRoot))
	if root == "" {
		return nil, usageError("--%s is empty: leave it out for %s", flagConfigRoot, host.Local)
	}
	return loadRoot(c.App, root)
}

// loadRoot reads the configuration below root and checks all values. The memory is that of the
// system below root, if it has a proc/meminfo, else that of this machine.
func loadRoot(app *cli.App, root host.Root) (*config.Config, error) {
	ram, err := root.MemTotal()
	if err != nil {
		ram, err = host.Local.MemTotal()
	}
	if err != nil {
		ram = 0 // expressions are refused with that reason
	}
	conf, err := config.Load(root, ram, configFlags())
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	conf.Real = swapdev.RealPath
	for _, s := range conf.Sections {
		checkSection(app, conf, s)
	}
	conf.SortProblems()
	return conf, nil
}

// checkSection reads the values of a section as up does: each with the size alone, so that each
// error has its line, and then all together. A section that this machine leaves out may be of no
// size.
func checkSection(app *cli.App, conf *config.Config, s *config.Section) {
	before, size := len(conf.Problems), "4G"
	settings := slices.DeleteFunc(slices.Clone(s.Settings), func(at config.Setting) bool { return at.Flag == "" || at.Flag == flagSize && at.Value == config.NoSize })
	for _, at := range settings {
		if at.Flag == flagSize && trySettings(app, s.Dir, at) == nil {
			size = at.Value
		}
	}
	for _, at := range settings {
		with := []config.Setting{{Flag: flagSize, Value: size}, at}
		if err := trySettings(app, s.Dir, with...); err != nil {
			conf.Problem(s, at, fmt.Sprintf("%s = %s: %s", at.Key, at.Written, withoutFlag(at, err)))
		}
	}
	if len(conf.Problems) > before {
		return
	}
	if err := trySettings(app, s.Dir, settings...); err != nil {
		conf.Problem(s, config.Setting{File: s.File, Line: s.Line}, fmt.Sprintf("[%s]: %v", s.Name, err))
	}
}

// withoutFlag returns the text of an error without the flag and its value in front.
func withoutFlag(at config.Setting, err error) string {
	text := err.Error()
	for _, front := range []string{"%s %s: ", "%s %q: "} {
		text = strings.TrimPrefix(text, fmt.Sprintf(front, at.Flag, at.Value))
	}
	return text
}

// trySettings reads the flags of up with these settings.
func trySettings(app *cli.App, dir string, settings ...config.Setting) error {
	c, err := upContext(app)
	if err != nil {
		return err
	}
	for _, at := range settings {
		if err := setFlag(c, at); err != nil {
			return err
		}
	}
	return readUp(c, dir, &upOrder{})
}

// upContext returns the context of a call of up without flags.
func upContext(app *cli.App) (*cli.Context, error) {
	up := upCommand()
	set := flag.NewFlagSet(up.Name, flag.ContinueOnError)
	for _, f := range up.Flags {
		if err := f.Apply(set); err != nil {
			return nil, err
		}
	}
	c := cli.NewContext(app, set, nil)
	c.Command = up
	return c, nil
}

// setFlag sets the flag of a setting.
func setFlag(c *cli.Context, at config.Setting) error {
	if at.Flag == "" {
		return nil
	}
	if err := c.Set(at.Flag, at.Value); err != nil {
		return fmt.Errorf("%s", wrongKind(c.Command.Flags, at.Flag))
	}
	return nil
}

// An offError says why the configuration has no device here.
type offError struct{ text string }

func (e *offError) Error() string { return e.text }

// configure gives the flags of up that are not on the command line the values that the
// configuration has for dir.
func configure(c *cli.Context, conf *config.Config, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return usageError("up: %w", err)
	}
	s, name := conf.At(abs), ""
	if s != nil {
		name = s.Name
	}
	if all := conf.Concerns(name); len(all) > 0 {
		return configError(all)
	}
	if s == nil {
		return nil
	}
	if s.Off != "" {
		return &offError{fmt.Sprintf("%s is not configured for this machine: %s", abs, s.Off)}
	}
	given := slices.Clone(c.LocalFlagNames())
	for _, at := range s.Settings {
		if isGiven(given, at.Flag) {
			continue
		}
		if err := setFlag(c, at); err != nil {
			return err
		}
	}
	return nil
}

// isGiven reports whether name or a rival of it is among the given flags.
func isGiven(given []string, name string) bool {
	if slices.Contains(given, name) {
		return true
	}
	for _, group := range rivals {
		if slices.Contains(group, name) && slices.ContainsFunc(group, func(other string) bool { return slices.Contains(given, other) }) {
			return true
		}
	}
	return false
}

// configError is the error of up for problems in its configuration.
func configError(all []config.Problem) error {
	if len(all) == 1 {
		return fmt.Errorf("the configuration has an error: %s", all[0])
	}
	return fmt.Errorf("the configuration has %d errors, and the first is %s; zramfs config check names all", len(all), all[0])
}
