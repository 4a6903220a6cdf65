// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/config"
	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

const flagSection = "section"

func sectionFlag() cli.Flag {
	return &cli.StringFlag{Name: flagSection, Usage: "in place of DIR: the device of section `NAME`, as zram0"}
}

// dirOrSection returns the directory that --section means, and the section's name, or else the
// argument DIR.
func dirOrSection(c *cli.Context, name string) (dir, section string, err error) {
	if !c.IsSet(flagSection) {
		dir, err = oneDir(c, name)
		return dir, "", err
	}
	section = c.String(flagSection)
	if c.NArg() > 0 {
		return "", "", usageError("%s: --%s and a DIR exclude each other", name, flagSection)
	}
	if !config.IsName(section) {
		return "", "", usageError("%s: --%s %q: no name of a section, as %s", name, flagSection, section, config.FirstName)
	}
	all, err := devices.Find()
	if err != nil {
		return "", "", err
	}
	return sectionDir(knownNames(c.String(flagConfigRoot)), section, all), section, nil
}

// sectionDir returns the directory of the device of a section: where it is up, even if the
// configuration has changed since, else where the configuration has it.
func sectionDir(conf *config.Config, section string, all []devices.Device) string {
	for _, d := range all {
		if d.Record != nil && d.Record.Section == section && d.Dir != "" {
			return d.Dir
		}
	}
	// The unit named its directory before it named a section: such a device has noted none.
	dir, plain := conf.Dir(section), config.PlainDir(section)
	at := func(dir string) bool {
		return slices.ContainsFunc(all, func(d devices.Device) bool { return d.Dir == dir })
	}
	if !at(dir) && at(plain) && conf.At(plain) == nil {
		return plain
	}
	return dir
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
	conf.Real = devices.RealPath
	return conf
}

// namedDevice returns the device that --section or the argument names, or the one at the default
// DIR.
func namedDevice(c *cli.Context, name string) (devices.Device, error) {
	dir, _, err := dirOrSection(c, name)
	if err != nil {
		return devices.Device{}, err
	}
	return devices.FindHere(dir)
}
