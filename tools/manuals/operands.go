// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/zramfs/zramfs/internal/command"
)

// Kinds of operands and values of flags, other than lists of words.
const (
	nothing   = ""
	directory = "DIR"
	file      = "FILE"
	process   = "PID"
	program   = "COMMAND"
)

// An operand is what completes at one place of the operands of a command.
type operand struct {
	words []string // a list of words, or
	kind  string   // one of the constants
}

// operands returns what completes at each place; at later ones the last does if more is true.
func operands(b book, c command.Description) (places []operand, more bool) {
	switch c.Names[0] {
	case "help":
		return []operand{{words: namesOf(b.commands)}}, false
	case "set":
		var keys []string
		for _, key := range command.SettingKeys() {
			keys = append(keys, key+"=")
		}
		return []operand{{words: keys, kind: directory}}, true
	}
	before, _, _ := strings.Cut(c.Arguments, "-- ")
	for word := range strings.FieldsSeq(strings.ReplaceAll(before, " | ", "|")) {
		name := strings.Trim(word, "[].")
		switch {
		case name == strings.ToLower(name):
			places = append(places, operand{words: strings.Split(name, "|")})
		case name == directory || name == file:
			places = append(places, operand{kind: name})
		default:
			return places, more
		}
		more = strings.Contains(word, "...")
	}
	return places, more
}

// takesCommand reports whether the command's last operands, behind --, are a command line.
func takesCommand(c command.Description) bool { return strings.Contains(c.Arguments, "-- "+program) }

func namesOf(commands []command.Description) (names []string) {
	for _, c := range commands {
		names = append(names, c.Names...)
	}
	return names
}

// valueOf returns what completes the value of a flag.
func valueOf(f command.Flag) operand {
	switch {
	case len(f.Choices) > 0:
		return operand{words: f.Choices}
	case f.Value == file || f.Value == "PATH":
		return operand{kind: file}
	case f.Value == process:
		return operand{kind: process}
	}
	return operand{kind: nothing}
}

// text is the operand in one word or several: lower-case words, then its kind.
func (o operand) text() string {
	return strings.TrimSpace(strings.Join(o.words, " ") + " " + o.kind)
}
