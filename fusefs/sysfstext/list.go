// SPDX-License-Identifier: Apache-2.0

package sysfstext

import (
	"iter"
	"strings"
)

// blanks separate the arguments of a list, as isspace does in the kernel.
const blanks = " \t\n\v\f\r"

// Arguments yields the arguments of a list: key and value of key=value, and of others the word with
// an empty value. Double quotes keep blanks together, as in next_arg of the kernel.
func Arguments(written []byte) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		rest := strings.TrimLeft(Text(written), blanks)
		for rest != "" {
			var word string
			word, rest = nextWord(rest)
			key, value := parts(word)
			if !yield(key, value) {
				return
			}
			rest = strings.TrimLeft(rest, blanks)
		}
	}
}

// nextWord cuts the first argument off, with its quotes.
func nextWord(text string) (word, rest string) {
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(blanks, c) >= 0:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// parts divides an argument at its first equals sign and takes the quotes off, around the whole or
// around the value.
func parts(word string) (key, value string) {
	opened := strings.HasPrefix(word, `"`)
	word = strings.TrimPrefix(word, `"`)
	at := strings.IndexByte(word, '=')
	if at <= 0 {
		if opened {
			word = strings.TrimSuffix(word, `"`)
		}
		return word, ""
	}
	key, value = word[:at], word[at+1:]
	inner, quoted := strings.CutPrefix(value, `"`)
	if quoted || opened {
		inner = strings.TrimSuffix(inner, `"`)
	}
	return key, inner
}
