// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	configName  = "config"
	configShow  = "show"
	configCheck = "check"
)

func configCommand() *cli.Command {
	return &cli.Command{
		Name:      configName,
		Usage:     "print or check the configuration of devices",
		ArgsUsage: configShow + " | " + configCheck,
		Description: "show prints, for each section, the values that up takes, with the file and the line where each is written. check prints every " +
			"error of the files, with file and line, and reads every value as up does.\n\n" +
			"The configuration is the first file of " + config.PlacesText() + ", and then all *.conf in the directories zramfs.conf.d next to these, by name; " +
			"a later file overrides an earlier one key by key. " +
			"A file hides those of the same name in directories named later here; as a link to /dev/null it only hides them. The grammar is zram-generator's: " +
			"[zram0] is the device at " + config.DefaultDir + ", [zram1] that at " + config.DefaultDir + "1, unless its key dir names another directory. " +
			"Each flag of up is a key, and so are zram-size, zram-resident-limit, compression-algorithm, swap-priority, options, writeback-device and " +
			"host-memory-limit of zram-generator. " +
			"Sizes in the first two are expressions in MiB, as min(ram / 2, 4096).",
		Flags: []cli.Flag{
			configRootFlag(),
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		},
		Action: configAction,
	}
}

func configAction(c *cli.Context) error {
	what := c.Args().First()
	if c.NArg() != 1 || what != configShow && what != configCheck {
		return usageError("config: say what to do: zramfs config %s or zramfs config %s", configShow, configCheck)
	}
	conf, err := loadConfig(c)
	if err != nil {
		return err
	}
	report := newConfigReport(conf)
	if c.Bool(flagJSON) {
		err = printJSON(c.App.Writer, map[string]configReport{configName: report})
	} else if what == configShow {
		_, err = fmt.Fprint(c.App.Writer, report.settingsText(), report.problemText())
	} else {
		_, err = fmt.Fprint(c.App.Writer, report.checkText())
	}
	if err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	if len(conf.Problems) > 0 {
		return exitWith(exitFailure)
	}
	return nil
}

// configReport is the configuration as config show prints it.
type configReport struct {
	Files    []string        `json:"files"`     // that were read, in this order
	MemTotal uint64          `json:"mem_total"` // memory that expressions were computed with; 0 if unknown
	Sections []configSection `json:"sections"`  // one for each device, in the order of their numbers
	Problems []configProblem `json:"problems"`  // errors in the files
}

type configSection struct {
	Name   string        `json:"name"`   // of the section
	Dir    string        `json:"dir"`    // mount point of the device
	Off    string        `json:"off"`    // why up leaves it out on this machine; empty if it does not
	Values []configValue `json:"values"` // those of all flags that are keys
}

type configValue struct {
	Key     string `json:"key"`     // name of the flag
	Value   string `json:"value"`   // that up takes
	Written string `json:"written"` // the line that sets it; empty for a default
	File    string `json:"file"`    // where that is; empty for a default
	Line    int    `json:"line"`    // of the file; 0 for a default
	Note    string `json:"note"`    // why up takes another value than is written; empty for none
}

type configProblem struct {
	File    string `json:"file"`    // that has the error
	Line    int    `json:"line"`    // of the file; 0 if it cannot be read
	Section string `json:"section"` // whose device it keeps from coming up; empty for every device
	Problem string `json:"problem"` // what is wrong
}

func newConfigReport(conf *config.Config) configReport {
	r := configReport{Files: conf.Files, MemTotal: conf.RAM, Sections: []configSection{}, Problems: []configProblem{}}
	if r.Files == nil {
		r.Files = []string{}
	}
	for _, s := range conf.Sections {
		r.Sections = append(r.Sections, configSection{Name: s.Name, Dir: s.Dir, Off: s.Off, Values: configValues(s)})
	}
	for _, p := range conf.Problems {
		r.Problems = append(r.Problems, configProblem{p.File, p.Line, p.Section, p.What})
	}
	return r
}

// configValues returns the values of a section, in the order of up's flags, and the keys that only
// files have behind them.
func configValues(s *config.Section) (all []configValue) {
	for _, f := range upCommand().VisibleFlags() {
		name := f.Names()[0]
		if !slices.ContainsFunc(configFlags(), func(k config.Flag) bool { return k.Name == name }) {
			continue
		}
		v := configValue{Key: name, Value: defaultOf(f)}
		for _, at := range s.Settings {
			if at.Flag == name {
				v = newConfigValue(name, at)
			}
		}
		all = append(all, v)
	}
	for _, at := range s.Settings {
		if at.Flag == "" {
			all = append(all, newConfigValue(at.Key, at))
		}
	}
	return all
}

func newConfigValue(key string, at config.Setting) configValue {
	return configValue{Key: key, Value: at.Value, Written: at.Key + " = " + at.Written, File: at.File, Line: at.Line, Note: at.Note}
}

// defaultOf returns the default of a flag in words.
func defaultOf(f cli.Flag) string {
	switch f := f.(type) {
	case *cli.StringFlag:
		return f.Value
	case *cli.BoolFlag:
		return fmt.Sprint(f.Value)
	case *cli.IntFlag:
		if f.DefaultText != "" {
			return f.DefaultText
		}
		return fmt.Sprint(f.Value)
	}
	return ""
}

// settingsText writes the sections in the grammar of the files.
func (r configReport) settingsText() string {
	var out strings.Builder
	if len(r.Sections) == 0 {
		fmt.Fprintln(&out, r.emptyText())
	}
	for i, s := range r.Sections {
		if i > 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "[%s] at %s\n", s.Name, s.Dir)
		if s.Off != "" {
			fmt.Fprintf(&out, "left out: %s\n", s.Off)
		}
		for _, v := range s.Values {
			from := "default"
			if v.File != "" {
				from = fmt.Sprintf("%s:%d: %s", v.File, v.Line, v.Written)
			}
			if v.Note != "" {
				from += "; " + v.Note
			}
			fmt.Fprintf(&out, "%-17s = %-16s  # %s\n", v.Key, v.Value, from)
		}
	}
	return out.String()
}

func (r configReport) problemText() string {
	var out strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintln(&out, term.Printable(config.Problem{File: p.File, Line: p.Line, What: p.Problem}.String()))
	}
	return out.String()
}

// checkText writes the errors, or that there are none, and what values became.
func (r configReport) checkText() string {
	switch {
	case len(r.Problems) > 0:
		return r.problemText()
	case len(r.Sections) == 0:
		return r.emptyText() + "\n"
	}
	var out strings.Builder
	for _, s := range r.Sections {
		for _, v := range s.Values {
			if v.Note != "" {
				fmt.Fprintf(&out, "%s:%d: %s is taken as %s: %s\n", v.File, v.Line, v.Written, v.Value, v.Note)
			}
		}
	}
	fmt.Fprintf(&out, "no errors in %s: %s\n", strings.Join(r.Files, ", "), term.Plural(len(r.Sections), "device", "devices"))
	return out.String()
}

// emptyText says why there is no device.
func (r configReport) emptyText() string {
	if len(r.Files) == 0 {
		return "no device is configured: there is none of " + config.PlacesText()
	}
	return "no device is configured: there is no section in " + strings.Join(r.Files, ", ")
}
