// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// cli has scripts for bash and zsh that run the program at each completion, with what was typed: at
// `exec -- COMMAND` they run COMMAND. Here the words are in the scripts.

const bashScript = `# bash completion for zramfs. Written by tools/manuals.
_zramfs() {
	local word=${COMP_WORDS[COMP_CWORD]}
	local -a all=()
	case $COMP_CWORD-${COMP_WORDS[1]} in
@cases@	esac
	[[ $COMP_CWORD == 1 || $word == -* ]] || all=()
	mapfile -t COMPREPLY < <(compgen -W "${all[*]%%:*}" -- "$word")
}
complete -o default -F _zramfs zramfs
`

const zshScript = `#compdef zramfs
# Written by tools/manuals.
local -a all
case $((CURRENT - 1))-$words[2] in
@cases@esac
if [[ $CURRENT == 2 || $PREFIX == -* ]]; then
	_describe zramfs all
else
	_files
fi
`

// completion returns a script with a case for the first word, and one for the flags of each
// command: words with what they mean behind a colon.
func completion(script string, app *cli.App) string {
	var cases strings.Builder
	write := func(pattern string, words []string) {
		fmt.Fprintf(&cases, "\t%s) all=(%s) ;;\n", pattern, strings.Join(words, " "))
	}
	first := flagWords(app.VisibleFlags())
	for _, c := range app.VisibleCommands() {
		for _, name := range c.Names() {
			first = append(first, quote(name+":"+c.Usage))
		}
	}
	write("1-*", first)
	for _, c := range app.VisibleCommands() {
		write("*-"+strings.Join(c.Names(), "|*-"), flagWords(append(c.VisibleFlags(), cli.HelpFlag)))
	}
	return strings.Replace(script, "@cases@", cases.String(), 1)
}

// flagWords returns the long names of flags.
func flagWords(flags []cli.Flag) (words []string) {
	for _, f := range flags {
		usage := strings.ReplaceAll(f.(cli.DocGenerationFlag).GetUsage(), "`", "")
		for _, name := range f.Names() {
			if len(name) > 1 {
				words = append(words, quote("--"+name+":"+usage))
			}
		}
	}
	return words
}

// quote makes s one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fish returns the script of cli, in which flags that take a file complete one.
func fish(app *cli.App) (string, error) {
	for _, c := range app.Commands {
		for _, f := range c.Flags {
			if s, ok := f.(*cli.StringFlag); ok {
				s.TakesFile = strings.Contains(s.Usage, "`FILE`") || strings.Contains(s.Usage, "`PATH`")
			}
		}
	}
	text, err := app.ToFishCompletion()
	return strings.ReplaceAll(text, "`", ""), err
}
