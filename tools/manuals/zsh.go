// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/internal/command"
)

// zsh writes the completion for zsh, by the function _arguments of zsh itself.
func zsh(b book) (string, error) {
	var commands, cases strings.Builder
	for _, c := range b.commands {
		for _, name := range c.Names {
			fmt.Fprintf(&commands, "\t\t%s\n", quote(name+":"+c.Usage))
		}
		fmt.Fprintf(&cases, "\t%s)\n\t\t_arguments -s -S", strings.Join(c.Names, "|"))
		for _, f := range c.Flags {
			fmt.Fprintf(&cases, " \\\n\t\t\t%s", zshFlag(f))
		}
		for _, o := range zshOperands(b, c) {
			fmt.Fprintf(&cases, " \\\n\t\t\t%s", o)
		}
		cases.WriteString(" && result=0\n\t\t;;\n")
	}
	var flags []string
	for _, f := range b.program.Flags {
		flags = append(flags, zshFlag(f))
	}
	return strings.NewReplacer("@flags@", strings.Join(flags, " "), "@commands@", commands.String(), "@cases@", cases.String()).Replace(zshScript), nil
}

// zshFlag returns the specifications of a flag: all its names exclude each other, unless it may be
// repeated.
func zshFlag(f command.Flag) string {
	value := ""
	if f.Value != "" {
		value = ":" + f.Value + ":" + zshAction(valueOf(f))
	}
	usage := "[" + strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(f.Usage) + "]"
	names := spelled([]command.Flag{f})
	exclude := "(" + strings.Join(names, " ") + ")"
	if f.Value == process {
		exclude = "*"
	}
	var all []string
	for _, name := range names {
		switch {
		case f.Value == "":
		case strings.HasPrefix(name, "--"):
			name += "="
		default:
			name += "+"
		}
		all = append(all, quote(exclude+name+usage+value))
	}
	return strings.Join(all, " ")
}

// zshOperands returns the specifications of a command's operands.
func zshOperands(b book, c command.Description) (all []string) {
	if takesCommand(c) {
		return []string{quote(`*:COMMAND: _alternative "directories:DIR:_directories" "commands:COMMAND:_command_names -e"`)}
	}
	places, more := operands(b, c)
	for i, o := range places {
		place := fmt.Sprint(i + 1)
		if more && i == len(places)-1 {
			place = "*"
		}
		all = append(all, quote(place+":operand:"+zshAction(o)))
	}
	return all
}

// zshAction returns the action of _arguments that completes an operand.
func zshAction(o operand) string {
	words := strings.ReplaceAll(strings.Join(o.words, " "), ":", `\:`)
	switch {
	case o.kind == directory && words != "":
		return ` _alternative "keys:KEY=VALUE:compadd -S '' ` + words + `" "directories:DIR:_directories"`
	case words != "":
		return "(" + words + ")"
	case o.kind == directory:
		return "_directories"
	case o.kind == file:
		return "_files"
	case o.kind == process:
		return "_pids"
	}
	return " "
}

// quote makes s one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

const zshScript = `#compdef zramfs
# Written by tools/manuals.

_zramfs() {
	local curcontext=$curcontext state line
	local -i result=1
	local -a named=(
@commands@	)
	_arguments -C -s -S @flags@ ':command:->command' '*:: :->operands' && result=0
	if [[ $state == command ]]; then
		_describe -t commands command named && result=0
		return result
	fi
	[[ $state == operands ]] || return result
	case $words[1] in
@cases@	esac
	return result
}

_zramfs "$@"
`
