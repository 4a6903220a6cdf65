// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/command"
)

// seeAlso names the manual pages that a reader of this one may need.
var seeAlso = []string{"free(1)", "fuse(4)", "losetup(8)", "mkswap(8)", "swapon(8)", "zramctl(8)", "zramfs.conf(5)"}

// manual writes zramfs(8) in the macros of man(7).
func manual(b book) (string, error) {
	var out roff
	name := b.program.Names[0]
	fmt.Fprintf(&out, ".\\\" Written by tools/manuals.\n.TH %s 8 %s \"%s %s\"\n", strings.ToUpper(name), b.date, name, b.version)
	out.section("NAME")
	out.text(name + " - " + b.program.Usage)
	out.section("SYNOPSIS")
	fmt.Fprintf(&out, "%s %s\n", bold(name), italic(b.program.Arguments))
	out.section("DESCRIPTION")
	for i, page := range []string{b.readme, b.reference} {
		text, err := introduction(page)
		if err != nil {
			return "", err
		}
		if i > 0 {
			out.WriteString(".PP\n")
		}
		out.text(text)
	}
	out.section("OPTIONS")
	out.flags(b.program.Flags)
	out.section("COMMANDS")
	for _, c := range b.commands {
		out.command(c)
	}
	out.section("EXIT STATUS")
	out.codes(b.program.Codes)
	out.WriteString(".PP\n")
	out.text("These commands have other codes, or mean something else by them:")
	for _, c := range b.commands {
		if len(c.Codes) > 0 {
			out.subsection(c.Names[0])
			out.codes(c.Codes)
		}
	}
	for _, heading := range []string{"Environment", "Files", "Examples"} {
		rows, err := table(b.reference, heading, 2)
		if err != nil {
			return "", err
		}
		out.section(strings.ToUpper(heading))
		for _, r := range rows {
			out.entry(inline(r[0]), inline(r[1]))
		}
	}
	out.references(seeAlso...)
	return out.String(), nil
}

// references writes the section of other pages.
func (r *roff) references(pages ...string) {
	r.section("SEE ALSO")
	for i, page := range pages {
		title, section, _ := strings.Cut(strings.TrimSuffix(page, ")"), "(")
		end := ","
		if i == len(pages)-1 {
			end = ""
		}
		fmt.Fprintf(r, ".BR %s (%s)%s\n", title, section, end)
	}
}

// A roff is a page being written.
type roff struct{ strings.Builder }

func (r *roff) section(title string)    { fmt.Fprintf(r, ".SH %s\n", title) }
func (r *roff) subsection(title string) { fmt.Fprintf(r, ".SS %s\n", escape(title)) }

// text writes a paragraph of plain text.
func (r *roff) text(s string) { r.lines(escape(s)) }

// entry writes a tagged paragraph; both parts are escaped.
func (r *roff) entry(tag, text string) {
	fmt.Fprintf(r, ".TP\n%s\n", protect(tag))
	r.lines(text)
}

// lines writes escaped text in lines of at most 80 bytes, where it has blanks. Sentences begin on
// lines of their own, so that roff knows where they end.
func (r *roff) lines(text string) {
	for sentence := range strings.SplitSeq(sentenceEnd.ReplaceAllString(text, "$1\n"), "\n") {
		line := ""
		for word := range strings.FieldsSeq(sentence) {
			if line != "" && len(line)+1+len(word) > 78 {
				fmt.Fprintf(r, "%s\n", protect(line))
				line = ""
			}
			line = strings.TrimSpace(line + " " + word)
		}
		fmt.Fprintf(r, "%s\n", protect(line))
	}
}

var sentenceEnd = regexp.MustCompile(`([.?!]) +`)

// command writes a command's part of the page.
func (r *roff) command(c command.Description) {
	r.subsection(strings.TrimSpace(strings.Join(c.Names, ", ") + " " + c.Arguments))
	r.text(sentence(c.Usage))
	if c.Text != "" {
		for paragraph := range strings.SplitSeq(c.Text, "\n\n") {
			r.paragraph(paragraph)
		}
	}
	r.flags(slices.DeleteFunc(slices.Clone(c.Flags), isHelp)) // every command has it
}

func isHelp(f command.Flag) bool { return f.Names[0] == "help" }

// paragraph writes a paragraph of a description: a text, or a heading and the rows of a table.
func (r *roff) paragraph(s string) {
	first, rest, isTable := strings.Cut(strings.TrimSpace(s), "\n")
	r.WriteString(".PP\n")
	r.text(first)
	if !isTable {
		return
	}
	for row := range strings.SplitSeq(rest, "\n") {
		name, text, _ := strings.Cut(row, " ")
		r.entry(bold(name), escape(strings.TrimSpace(text)))
	}
}

func (r *roff) flags(flags []command.Flag) {
	for _, f := range flags {
		var names []string
		for _, name := range f.Names {
			text := bold(dashed(name))
			if f.Value != "" {
				text += " " + italic(f.Value)
			}
			names = append(names, text)
		}
		r.entry(strings.Join(names, ", "), usage(f))
	}
}

// usage returns what a flag does, and its default.
func usage(f command.Flag) string {
	text := escape(f.Usage)
	if f.Default != "" {
		text += " (default: " + escape(f.Default) + ")"
	}
	return text
}

func (r *roff) codes(codes []command.Code) {
	for _, c := range codes {
		r.entry(bold(fmt.Sprint(c.Number)), escape(c.Meaning))
	}
}

func bold(s string) string   { return `\fB` + escape(s) + `\fR` }
func italic(s string) string { return `\fI` + escape(s) + `\fR` }

// escape makes plain text one that roff prints unchanged: a hyphen stays one that can be copied.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// protect keeps a line from being read as a request.
func protect(line string) string {
	if strings.HasPrefix(line, ".") {
		return `\&` + line
	}
	return line
}

// inline turns code and links of Markdown into roff.
func inline(s string) string {
	s = link.ReplaceAllString(s, "$1")
	var out strings.Builder
	for i, part := range strings.Split(s, "`") {
		if i%2 == 1 {
			out.WriteString(bold(part))
		} else {
			out.WriteString(escape(part))
		}
	}
	return out.String()
}

var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// sentence makes a usage line a sentence.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// dashed returns a flag's name with its dashes.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
