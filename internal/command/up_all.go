// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/notify"
)

// upAll turns on the devices of all sections, one after the other. One that fails leaves the others
// on.
func upAll(c *cli.Context) error {
	if c.NArg() > 0 || c.IsSet(flagSection) {
		return usageError("up: --%s excludes a DIR and --%s", flagAll, flagSection)
	}
	conf, err := loadConfig(c)
	if err != nil {
		return err
	}
	if len(conf.Sections) == 0 {
		if len(conf.Problems) > 0 {
			return configError(conf.Problems)
		}
		text := newConfigReport(conf).emptyText()
		return errors.Join(sayAll(c, text), notify.Ready(0, text))
	}
	var failed []error
	var told announcement
	on := 0
	for _, s := range conf.Sections {
		if s.Off != "" {
			line := s.Dir + " is left out: " + s.Off
			told.lines = append(told.lines, line)
			if err := sayAll(c, line); err != nil {
				return err
			}
			continue
		}
		err := upSection(c, conf, s, told.note)
		if err != nil {
			failed = append(failed, fmt.Errorf("[%s]: %w", s.Name, err))
		} else {
			on++
		}
		if errors.Is(err, imageio.ErrInterrupted) {
			break
		}
	}
	if len(told.lines) > 0 { // after failures too: the exit code tells these
		failed = append(failed, told.send())
	}
	return partly(on, errors.Join(failed...))
}

// partly is the error of an up of several devices that has turned a number of them on: the codes of
// a wrong call and of a kubelet would say that nothing was changed.
func partly(on int, err error) error {
	if on == 0 || err == nil {
		return err
	}
	return &exitError{code: exitFailure, cause: err}
}

// An announcement is what a service manager hears of several devices: one message, once all are up.
// It is used by one goroutine.
type announcement struct {
	pid   int // of the first keeper; 0 without a device
	lines []string
}

// note takes the place of notify.Ready for one device.
func (a *announcement) note(pid int, status string) error {
	if a.pid == 0 {
		a.pid = pid
	}
	a.lines = append(a.lines, status)
	return nil
}

func (a *announcement) send() error { return notify.Ready(a.pid, strings.Join(a.lines, "; ")) }

// sayAll prints a line, unless the call is quiet.
func sayAll(c *cli.Context, line string) error {
	if c.Bool(flagQuiet) {
		return nil
	}
	_, err := fmt.Fprintln(c.App.Writer, line)
	return err
}

// upSection turns on the device of a section, with the flags of c over the section's.
func upSection(c *cli.Context, conf *config.Config, s *config.Section, tell func(int, string) error) error {
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
	return upAt(own, place{dir: s.Dir, section: s.Name, tell: tell})
}
