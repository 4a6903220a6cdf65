// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// This file reads the part of YAML that programs write configurations in: block mappings of keys
// and plain or quoted values on one line. Sequences, block scalars, anchors and values over several
// lines become unread, which is an error only where the value is needed. A library for all of YAML
// would add 225,000 bytes to a program that devices keep locked in memory.

// maxDepth is deeper than any configuration goes.
const maxDepth = 16

// A yamlLine is a line that is neither empty nor a comment.
type yamlLine struct {
	number, indent int
	text           string // without the indentation and white space at the end
}

// A yamlReader reads lines one after the other.
type yamlReader struct{ lines []yamlLine }

// parseYAML reads a file of one document. It refuses what it does not understand.
func parseYAML(text string) (document, error) {
	r := yamlReader{lines: splitYAML(text)}
	if len(r.lines) > 0 && isMarker(r.lines[0], "---") {
		r.lines = r.lines[1:]
	}
	if len(r.lines) == 0 {
		return document{}, nil
	}
	doc, err := r.mapping(r.lines[0].indent, 0)
	if err != nil {
		return nil, err
	}
	if len(r.lines) > 0 {
		return nil, r.lines[0].unexpected()
	}
	return doc, nil
}

func splitYAML(text string) (lines []yamlLine) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, " \t\r\n")
		content := strings.TrimLeft(line, " ")
		if content != "" && !strings.HasPrefix(content, "#") {
			lines = append(lines, yamlLine{number, len(line) - len(content), content})
		}
	}
	return lines
}

func isMarker(l yamlLine, marker string) bool {
	return l.indent == 0 && (l.text == marker || strings.HasPrefix(l.text, marker+" #"))
}

func (l yamlLine) unexpected() error {
	return fmt.Errorf("line %d: %q is written in a way that zramfs does not read", l.number, l.text)
}

// inSequence reports whether the line is an item of a sequence.
func (l yamlLine) inSequence() bool { return l.text == "-" || strings.HasPrefix(l.text, "- ") }

// mapping reads the keys that have this indentation.
func (r *yamlReader) mapping(indent, depth int) (document, error) {
	doc := document{}
	for len(r.lines) > 0 && r.lines[0].indent >= indent {
		l := r.lines[0]
		key, rest, err := splitKey(l.text)
		if err != nil || l.indent > indent || depth > maxDepth || isMarker(l, "---") || isMarker(l, "...") {
			return nil, l.unexpected()
		}
		if _, twice := doc[key]; twice {
			return nil, fmt.Errorf("line %d: %s is there twice", l.number, key)
		}
		r.lines = r.lines[1:]
		if doc[key], err = r.value(l, rest, depth); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// value reads the value of a key on line l, where rest is behind the colon.
func (r *yamlReader) value(l yamlLine, rest string, depth int) (any, error) {
	if rest != "" {
		value, err := scalar(l, rest)
		if r.skip(l.indent) { // it goes on in the next line
			value = unread(l.number)
		}
		return value, err
	}
	if len(r.lines) == 0 || r.lines[0].indent < l.indent {
		return nil, nil
	}
	if r.lines[0].inSequence() {
		r.skipSequence(l.indent)
		return unread(l.number), nil
	}
	if r.lines[0].indent == l.indent {
		return nil, nil
	}
	return r.mapping(r.lines[0].indent, depth+1)
}

// skip leaves out the lines that are deeper, and reports whether there were any.
func (r *yamlReader) skip(indent int) (some bool) {
	for len(r.lines) > 0 && r.lines[0].indent > indent {
		r.lines, some = r.lines[1:], true
	}
	return some
}

// skipSequence leaves out a sequence, whose items may have the indentation of its key.
func (r *yamlReader) skipSequence(indent int) {
	for len(r.lines) > 0 && (r.lines[0].indent > indent || r.lines[0].indent == indent && r.lines[0].inSequence()) {
		r.lines = r.lines[1:]
	}
}

var errNoKey = errors.New("no key")

// splitKey divides a line into its key and what is behind the colon and white space.
func splitKey(text string) (key, rest string, err error) {
	if text[0] == '"' || text[0] == '\'' {
		key, rest, err = quoted(text)
		if rest = strings.TrimLeft(rest, " \t"); err != nil || !strings.HasPrefix(rest, ":") {
			return "", "", errNoKey
		}
		rest = rest[1:]
	} else {
		at := strings.Index(text+" ", ": ")
		if at <= 0 || strings.ContainsRune("-?:,[]{}#&*!|>%@`<\t", rune(text[0])) {
			return "", "", errNoKey
		}
		key, rest = strings.TrimRight(text[:at], " \t"), text[at+1:]
	}
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", "", errNoKey
	}
	rest = strings.TrimLeft(rest, " \t")
	if strings.HasPrefix(rest, "#") {
		rest = ""
	}
	return key, rest, nil
}

// scalar reads the value on one line, with a comment behind it.
func scalar(l yamlLine, text string) (any, error) {
	switch text[0] {
	case '"', '\'':
		value, rest, err := quoted(text)
		if rest = strings.TrimLeft(rest, " \t"); err != nil || rest != "" && rest[0] != '#' {
			return nil, l.unexpected()
		}
		return value, nil
	case '{':
		return flowMapping(l, withoutComment(text))
	case '[', '&', '*', '!', '|', '>', '%', '@', '`':
		return unread(l.number), nil
	}
	switch text = withoutComment(text); text {
	case "~", "null", "Null", "NULL":
		return nil, nil
	}
	return text, nil
}

func withoutComment(text string) string {
	if at := strings.Index(text, " #"); at >= 0 {
		text = text[:at]
	}
	return strings.TrimSpace(text)
}

// flowMapping reads {a: b, c: d} with plain values.
func flowMapping(l yamlLine, text string) (any, error) {
	inner, closed := strings.CutSuffix(text[1:], "}")
	if !closed || strings.ContainsAny(inner, "{}[]&*!|>\\") {
		return unread(l.number), nil
	}
	doc := document{}
	for pair := range strings.SplitSeq(inner, ",") {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		key, rest, err := splitKey(pair)
		if err != nil || rest == "" {
			return unread(l.number), nil
		}
		if doc[key], err = scalar(l, rest); err != nil {
			return unread(l.number), nil
		}
	}
	return doc, nil
}

// quoted reads the quoted text at the beginning, and returns what is behind it.
func quoted(text string) (value, rest string, err error) {
	if text[0] == '"' {
		prefix, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", err
		}
		value, err = strconv.Unquote(prefix)
		return value, text[len(prefix):], err
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '\'':
			value += text[i : i+1]
		case strings.HasPrefix(text[i:], "''"):
			value += "'"
			i++
		default:
			return value, text[i+1:], nil
		}
	}
	return "", "", errors.New("the quotation does not end")
}
