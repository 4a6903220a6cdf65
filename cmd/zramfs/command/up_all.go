// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/config"
	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
)

// upAll turns on the devices of all sections, one after the other. One that fails leaves the others
// on.
func upAll(c *cli.Context) error {
	if c.NArg() > 0 {
		return usageError("up: --%s and a DIR exclude each other", flagAll)
	}
	conf, err := loadConfig(c)
	if err != nil {
		return err
	}
	if len(conf.Sections) == 0 {
		if len(conf.Problems) > 0 {
			return configError(conf.Problems)
		}
		return sayAll(c, newConfigReport(conf).emptyText())
	}
	var failed []error
	for _, s := range conf.Sections {
		if s.Off != "" {
			if err := sayAll(c, s.Dir+" is left out: "+s.Off); err != nil {
				return err
			}
			continue
		}
		err := upSection(c, conf, s)
		if err != nil {
			failed = append(failed, fmt.Errorf("[%s]: %w", s.Name, err))
		}
		if errors.Is(err, imaging.ErrInterrupted) {
			break
		}
	}
	return errors.Join(failed...)
}

// sayAll prints a line, unless the call is quiet.
func sayAll(c *cli.Context, line string) error {
	if c.Bool(flagQuiet) {
		return nil
	}
	_, err := fmt.Fprintln(c.App.Writer, line)
	return err
}

// upSection turns on the device of a section, with the flags of c over the section's.
func upSection(c *cli.Context, conf *config.Config, s *config.Section) error {
	own, err := upContext(c.App)
	if err != nil {
		return err
	}
	own.Context = c.Context
	for _, name := range c.LocalFlagNames() {
		if err := own.Set(name, fmt.Sprint(c.Value(name))); err != nil {
			return err
		}
	}
	if err := configure(own, conf, s.Dir); err != nil {
		return err
	}
	if own.Bool(flagJSON) {
		return usageError("--%s and --%s exclude each other: zramfs status -J shows all devices", flagAll, flagJSON)
	}
	return upAt(own, s.Dir)
}
