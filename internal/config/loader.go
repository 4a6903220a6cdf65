// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/safeopen"
	"github.com/zramfs/zramfs/internal/term"
)

// A loader reads files into a configuration, one after the other.
type loader struct {
	*Config
	keys map[string]key

	file    string
	line    int      // where the text in hand begins
	section *Section // nil outside of a section, and in an unknown one
	unknown bool     // in an unknown section: its lines are not looked at
}

// read reads a file, whose name is relative to root.
func (l *loader) read(root host.Root, name string) {
	l.file, l.line, l.section, l.unknown = "/"+name, 0, nil, false
	text, err := safeopen.Read(root.Path(name), maxFile)
	if err != nil {
		l.problem("%v", err)
		return
	}
	l.Files = append(l.Files, l.file)
	l.parse(string(text))
}

// parse reads the text of a file. A backslash at the end joins a line with the next.
func (l *loader) parse(text string) {
	begin, joined := 0, ""
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if joined != "" && isComment(line) {
			continue
		}
		if joined == "" {
			begin = i + 1
		}
		if part, more := strings.CutSuffix(line, `\`); more && !isComment(line) {
			joined += part + " "
			continue
		}
		l.line = begin
		l.parseLine(strings.TrimSpace(joined + line))
		joined = ""
	}
	if l.line = begin; joined != "" {
		l.parseLine(strings.TrimSpace(joined))
	}
}

func isComment(line string) bool { return line != "" && strings.ContainsRune("#;", rune(line[0])) }

func (l *loader) parseLine(line string) {
	switch {
	case line == "" || isComment(line):
	case line[0] == '[':
		l.begin(line)
	case l.unknown:
	case l.section == nil:
		l.problem("%q is in no section: write [zram0] before it", line)
	default:
		l.set(line)
	}
}

// begin reads the line that begins a section.
func (l *loader) begin(line string) {
	l.section, l.unknown = nil, true
	name, closed := strings.CutSuffix(line[1:], "]")
	name = strings.TrimSpace(name)
	switch {
	case !closed:
		l.problem("%q has no ] at its end", line)
	case Number(name) < 0:
		l.problem("unknown section [%s]: sections are [zram0], [zram1] and so on up to [zram%d], and the lines below it are not read", name, maxSections-1)
	default:
		l.unknown = false
		if at := slices.IndexFunc(l.Sections, func(s *Section) bool { return s.Name == name }); at >= 0 {
			l.section = l.Sections[at]
			return
		}
		l.section = &Section{Name: name, File: l.file, Line: l.line}
		l.Sections = append(l.Sections, l.section)
	}
}

// set reads a line "key = value".
func (l *loader) set(line string) {
	name, written, ok := strings.Cut(line, "=")
	name, written = strings.TrimSpace(name), unquote(strings.TrimSpace(written))
	if strings.HasPrefix(name, "set!") {
		l.problem("%s is not supported: zramfs never runs programs that a configuration names; compute the size from ram", name)
		return
	}
	k, known := l.keys[name]
	switch {
	case !known:
		l.problem("unknown key %q%s", name, l.hint(name))
		return
	case !ok:
		l.problem("%s has no value: write %[1]s = VALUE", name)
		return
	case k.refuse != "":
		l.problem("%s: %s", name, k.refuse)
		return
	}
	setting := Setting{Key: name, Written: written, Flag: k.flag, File: l.file, Line: l.line}
	same := slices.IndexFunc(l.section.Settings, func(s Setting) bool { return targetOf(s) == targetOf(setting) })
	if same >= 0 && l.section.Settings[same].File == l.file {
		before := l.section.Settings[same]
		l.problem("%s sets again what %s sets in line %d: keep one of them", name, before.Key, before.Line)
		return
	}
	if same >= 0 {
		l.section.Settings = slices.Delete(l.section.Settings, same, same+1)
	}
	l.section.Settings = append(l.section.Settings, setting)
}

// convert computes the values of a section from those that are written, once all files are read.
func (l *loader) convert(s *Section) {
	var kept []Setting
	for _, at := range s.Settings {
		var err error
		at.Value, at.Note, err = l.keys[at.Key].convert(at.Written, float64(l.RAM)/(1<<20))
		switch {
		case err != nil:
			l.Problem(s, at, fmt.Sprintf("%s = %s: %v", at.Key, at.Written, err))
		case at.Value != "":
			kept = append(kept, at)
		}
	}
	s.Settings = kept
}

// hint names the key that was meant, if one is near.
func (l *loader) hint(name string) string {
	all := names(l.keys)
	if near := term.Nearest(name, all); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; there are " + strings.Join(all, ", ")
}

// unquote removes the quotes around a value.
func unquote(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// problem notes an error at the line in hand.
func (l *loader) problem(format string, args ...any) {
	p := Problem{File: l.file, Line: l.line, What: fmt.Sprintf(format, args...)}
	if l.section != nil {
		p.Section = l.section.Name
	}
	l.Problems = append(l.Problems, p)
}
