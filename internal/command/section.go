// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

const flagSection = "section"

func sectionFlag() cli.Flag {
	return &cli.StringFlag{Name: flagSection, Usage: "in place of DIR: the device of section `NAME`, as zram0"}
}

// dirOrSection returns the directory that --section or the argument DIR means, and the name of the
// section where one of them is such a name.
func dirOrSection(c *cli.Context, name string) (dir, section string, err error) {
	if !c.IsSet(flagSection) {
		return oneDir(c, name)
	}
	section = c.String(flagSection)
	if c.NArg() > 0 {
		return "", "", usageError("%s: --%s and a DIR exclude each other", name, flagSection)
	}
	if !config.IsName(section) {
		return "", "", usageError("%s: --%s %q: no name of a section, as %s", name, flagSection, section, config.FirstName)
	}
	conf, all, err := sectionsAndDevices(c)
	if err != nil {
		return "", "", err
	}
	dir = sectionDir(conf, section, all)
	up := slices.ContainsFunc(all, func(d swapdev.Device) bool { return d.Dir == dir })
	if !up && !isSection(conf, section, all) {
		return "", "", usageError("%s: there is no section %q%s", name, section, sectionList(conf))
	}
	return dir, section, nil
}

// oneDir returns what the argument DIR means, which is optional.
func oneDir(c *cli.Context, name string) (dir, section string, err error) {
	switch {
	case c.NArg() > 1:
		return "", "", usageError("%s: one DIR at most%s", name, didYouMean(c, c.Args().Get(1), nil))
	case c.NArg() == 0:
		return defaultDir, "", nil
	case c.Args().First() == "":
		return "", "", usageError("%s: DIR is empty; leave it out for %s", name, defaultDir)
	}
	return dirNamed(c, c.Args().First())
}

// dirNamed returns the directory that the argument DIR of a command means, and the section where it
// is the name of one. A word without a slash may be a slip: it means a section or a file that
// exists, and is a wrong call otherwise.
func dirNamed(c *cli.Context, word string) (dir, section string, err error) {
	if strings.Contains(word, "/") {
		return word, "", nil
	}
	conf, all, err := sectionsAndDevices(c)
	if err != nil {
		return "", "", err
	}
	if isSection(conf, word, all) {
		return sectionDir(conf, word, all), word, nil
	}
	// It may be a device that does not answer: a link is read without asking it.
	if _, err := os.Readlink(word); word != "" && !errors.Is(err, fs.ErrNotExist) {
		return word, "", nil
	}
	meant := cmp.Or(didYouMean(c, word, sectionNames(conf)), ".")
	return "", "", usageError("%s: %q is neither a directory nor a section%s For a directory of that name write %s", c.Command.Name, word,
		meant, term.ShellWord("./"+word))
}

// dirsNamed returns the directories that the arguments of a command mean.
func dirsNamed(c *cli.Context, words []string) ([]string, error) {
	dirs := make([]string, len(words))
	for i, word := range words {
		var err error
		if dirs[i], _, err = dirNamed(c, word); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// findHere is swapdev.FindHere for an argument DIR of a command.
func findHere(c *cli.Context, word string) (swapdev.Device, error) {
	dir, _, err := dirNamed(c, word)
	if err != nil {
		return swapdev.Device{}, err
	}
	return swapdev.FindHere(dir)
}

// didYouMean is a question for a word that is no DIR, behind a semicolon; empty if none is likely.
func didYouMean(c *cli.Context, word string, sections []string) string {
	flags := newFlagTable(c.Command.Flags)
	name, value, hasValue := strings.Cut(word, "=")
	flag, isFlag := flags[name]
	_, sizeErr := term.ParseExactBytes(word, 1)
	_, loopErr := os.Lstat("/dev/" + word)
	meant := term.Nearest(word, sections)
	switch {
	case isFlag && flag.takesValue == hasValue:
		meant = flag.text(value, hasValue)
	case isFlag && !hasValue:
		meant = "--" + flag.name + " VALUE"
	case flags[flagSize].takesValue && sizeErr == nil:
		meant = "--" + flagSize + " " + word
	case loopErr == nil && strings.HasPrefix(word, "loop"):
		meant = "/dev/" + word
	case meant == "":
		return ""
	}
	return "; did you mean " + meant + "?"
}

// sectionsAndDevices returns the configuration for its names, and all devices.
func sectionsAndDevices(c *cli.Context) (*config.Config, []swapdev.Device, error) {
	all, err := swapdev.Find()
	return knownNames(c.String(flagConfigRoot)), all, err
}

// isSection reports whether name is that of a section: in the configuration, of the device that
// needs none there, or of a device that is up.
func isSection(conf *config.Config, name string, all []swapdev.Device) bool {
	return name == config.FirstName || conf.Named(name) != nil || slices.ContainsFunc(all, func(d swapdev.Device) bool { return hasSection(d, name) })
}

// hasSection reports whether d was asked for by a section.
func hasSection(d swapdev.Device, section string) bool {
	return d.Record != nil && d.Record.Section == section && d.Dir != ""
}

// sectionNames returns the names of all sections that dirNamed takes without a device.
func sectionNames(conf *config.Config) []string {
	names := []string{config.FirstName}
	for _, s := range conf.Sections {
		if s.Name != config.FirstName {
			names = append(names, s.Name)
		}
	}
	return names
}

// sectionList names the sections for an error, behind a semicolon.
func sectionList(conf *config.Config) string {
	if len(conf.Sections) == 0 {
		return fmt.Sprintf("; the configuration has none, and %s is %s", config.FirstName, config.DefaultDir)
	}
	return "; there are " + strings.Join(sectionNames(conf), ", ")
}

// sectionDir returns the directory of the device of a section: where it is up, even if the
// configuration has changed since, else where the configuration has it.
func sectionDir(conf *config.Config, section string, all []swapdev.Device) string {
	for _, d := range all {
		if hasSection(d, section) {
			return d.Dir
		}
	}
	return conf.Dir(section)
}

// knownNames returns the configuration for its names alone: errors in it do not matter, and one
// that cannot be found has the default names.
func knownNames(root string) *config.Config {
	if root == "" {
		root = string(host.Local)
	}
	ram, _ := host.Root(root).MemTotal() // for sizes, which are no names
	conf, err := config.Load(host.Root(root), ram, configFlags())
	if err != nil {
		return &config.Config{}
	}
	conf.Real = swapdev.RealPath
	return conf
}

// namedDevice returns the device that --section or the argument names, or the one at the default
// DIR.
func namedDevice(c *cli.Context, name string) (swapdev.Device, error) {
	dir, _, err := dirOrSection(c, name)
	if err != nil {
		return swapdev.Device{}, err
	}
	return swapdev.FindHere(dir)
}
