// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/command"
)

const (
	confName    = "zramfs.conf"
	confHeading = "Configuration" // of the section of docs/commands.md
)

// configuration writes zramfs.conf(5): the section of the reference, with the flags of up in the
// place of the row that stands for them.
func configuration(b book) (string, error) {
	var out roff
	fmt.Fprintf(&out, ".\\\" Written by tools/manuals.\n.TH %s 5 %s \"%s %s\"\n", strings.ToUpper(confName), b.date, b.program.Names[0], b.version)
	out.section("NAME")
	out.text(confName + " - devices of compressed swap by zramfs")
	out.section("SYNOPSIS")
	for i, place := range command.ConfigPlaces() {
		if i > 0 {
			out.WriteString(".br\n")
		}
		fmt.Fprintf(&out, "%s\n.br\n%s\n", bold(place), bold(place+".d/*.conf"))
	}
	before, rest, _ := strings.Cut(section(b.reference, confHeading), "```\n")
	example, after, ok := strings.Cut(rest, "\n```\n")
	if !ok {
		return "", errors.New("the section has no example")
	}
	out.section("DESCRIPTION")
	out.paragraphs(before + after)
	out.section("KEYS")
	if err := out.keys(b); err != nil {
		return "", err
	}
	out.section("EXAMPLES")
	fmt.Fprintf(&out, ".nf\n%s\n.fi\n", escape(example))
	out.references("mount(8)", "swapon(8)", "systemd.generator(7)", "zramctl(8)", "zramfs(8)")
	return out.String(), nil
}

// paragraphs writes the paragraphs of a section, without its tables.
func (r *roff) paragraphs(text string) {
	begun := false
	for block := range strings.SplitSeq(text, "\n\n") {
		if block = strings.TrimSpace(block); block == "" || block[0] == '|' {
			continue
		}
		if begun {
			r.WriteString(".PP\n")
		}
		begun = true
		if text, ok := strings.CutSuffix(block, ":"); ok { // before the example, which is elsewhere
			block = text + "."
		}
		r.lines(inline(block))
	}
}

// keys writes an entry for each key of the configuration.
func (r *roff) keys(b book) error {
	rows, err := table(b.reference, confHeading, 3)
	if err != nil {
		return err
	}
	for _, row := range rows[1:] { // behind its heading
		text := row[2]
		switch {
		case strings.HasPrefix(row[0], "every flag"):
			r.flagKeys(b)
			continue
		case row[1] != "":
			text = strings.TrimPrefix(text+"; sets "+row[1], "; ")
		}
		r.entry(inline(row[0]), inline(text))
	}
	return nil
}

// flagKeys writes an entry for each flag of up that is a key.
func (r *roff) flagKeys(b book) {
	keys := command.ConfigKeys()
	for _, c := range b.commands {
		if c.Names[0] != "up" {
			continue
		}
		for _, f := range c.Flags {
			if !slices.Contains(keys, f.Names[0]) {
				continue
			}
			f.Names = f.Names[:1]
			if f.Value == "" {
				f.Value = "yes|no"
			}
			r.entry(bold(f.Names[0])+" = "+italic(f.Value), usage(f))
		}
	}
}
