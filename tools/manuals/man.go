// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/urfave/cli/v2"
)

// Pages are Markdown, which the library that cli uses for its own pages renders. Those of cli have
// one page for all commands, no names of values, and tables as paragraphs.

// overview returns the page of the program.
func overview(app *cli.App, readme, reference string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# NAME\n%s - %s\n\n# SYNOPSIS\n**%[1]s** *COMMAND* [*FLAG*...] [*ARGUMENT*...]\n\n", app.Name, app.Usage)
	fmt.Fprintf(&b, "# DESCRIPTION\n%s\n\n%s\n\n# OPTIONS\n", paragraph(readme), paragraph(reference))
	writeFlags(&b, app.VisibleFlags())
	b.WriteString("# COMMANDS\n")
	for _, c := range app.VisibleCommands() {
		entry(&b, fmt.Sprintf("%s-%s(8)", app.Name, c.Name), c.Usage)
	}
	for _, heading := range []string{"Environment", "Files", "Examples"} {
		fmt.Fprintf(&b, "# %s\n%s\n", strings.ToUpper(heading), section(reference, heading))
	}
	return b.String() + "# SEE ALSO\n**mkswap**(8), **swapon**(8), **zramctl**(8), **zramfs.conf**(5)\n"
}

// commandPage returns the page of a command.
func commandPage(app *cli.App, c *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# NAME\n%s-%s - %s\n\n", app.Name, c.Name, escape(c.Usage))
	fmt.Fprintf(&b, "# SYNOPSIS\n**%s %s** [*FLAG*...] %s\n\n", app.Name, strings.Join(c.Names(), "|"), escape(c.ArgsUsage))
	text, codes, _ := strings.Cut(c.Description, "Exit codes:\n")
	if text != "" {
		b.WriteString("# DESCRIPTION\n")
	}
	for p := range strings.SplitSeq(text, "\n\n") {
		first, rows, _ := strings.Cut(p, "\n")
		fmt.Fprintf(&b, "%s\n\n", escape(first))
		writeRows(&b, rows)
	}
	b.WriteString("# OPTIONS\n")
	writeFlags(&b, append(c.VisibleFlags(), cli.HelpFlag))
	b.WriteString("# EXIT STATUS\n")
	writeRows(&b, codes)
	return b.String() + "# SEE ALSO\n**zramfs**(8), **zramfs.conf**(5)\n"
}

// configuration returns the page of zramfs.conf, a section of the reference.
func configuration(reference string) string {
	return "# NAME\nzramfs.conf - devices of compressed swap by zramfs\n\n# DESCRIPTION\n" + section(reference, "Configuration") +
		"\n# SEE ALSO\n**systemd.generator**(7), **zramctl**(8), **zramfs**(8), **zramfs-up**(8)\n"
}

// writeFlags writes an entry for each flag, in the words of its help.
func writeFlags(b *strings.Builder, flags []cli.Flag) {
	for _, f := range flags {
		names, text, _ := strings.Cut(f.String(), "\t")
		entry(b, names, text)
	}
}

// writeRows writes an entry for each row of a table in a description.
func writeRows(b *strings.Builder, rows string) {
	for row := range strings.Lines(rows) {
		name, text, _ := strings.Cut(strings.TrimSpace(row), " ")
		entry(b, name, text)
	}
}

func entry(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, "**%s**\n:   %s\n\n", escape(name), escape(strings.TrimSpace(text)))
}

// paragraph returns the first one of a page of documentation.
func paragraph(page string) string {
	_, text, _ := strings.Cut(page, "\n\n")
	text, _, _ = strings.Cut(text, "\n\n")
	return unlink(text)
}

// section returns the text below a heading of a page, with an entry for each row of its tables.
func section(page, heading string) string {
	_, rest, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	text = tableHead.ReplaceAllString(text, "")
	text = tableRow.ReplaceAllString(text, "$1\n:   $2\n")
	return unlink(text)
}

var (
	tableHead = regexp.MustCompile(`(?m)^\|.*\n\|---.*\n`)
	tableRow  = regexp.MustCompile(`(?m)^\| (.*?) \| (.*) \|$`)
	link      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

func unlink(text string) string { return link.ReplaceAllString(text, "$1") }

// escape makes plain text Markdown that stands for it.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`).Replace(s)
}

// man renders a page. A hyphen stays one that can be copied.
func man(name, text, date, version string) string {
	title, section := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)[1:]
	text = fmt.Sprintf("# %s %s %s \"zramfs %s\"\n\n%s", strings.ToUpper(title), section, date, version, text)
	text = blankLines.ReplaceAllString(string(md2man.Render([]byte(text))), "\n.") // roff has its own space there
	text = strings.ReplaceAll(text, "\n.EX\n", "\n.PP\n.EX\n")
	return textLine.ReplaceAllStringFunc(text, hyphens.Replace)
}

var (
	blankLines = regexp.MustCompile(`\n{2,}\.`)
	textLine   = regexp.MustCompile(`(?m)^[^.].*`)
	hyphens    = strings.NewReplacer(`\-`, `\-`, "-", `\-`)
)
