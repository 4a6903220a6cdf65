// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/internal/command"
)

// bash writes the completion for bash: tables as functions, and what looks them up. It needs no
// other package, bash-completion neither.
func bash(b book) (string, error) {
	var flags, values, places strings.Builder
	fmt.Fprintf(&flags, "\t'') echo '%s' ;;\n", strings.Join(spelled(b.program.Flags), " "))
	for _, c := range b.commands {
		fmt.Fprintf(&flags, "\t%s) echo '%s' ;;\n", strings.Join(c.Names, "|"), strings.Join(spelled(c.Flags), " "))
		for _, f := range c.Flags {
			if f.Value != "" {
				fmt.Fprintf(&values, "\t%s) echo '%s' ;;\n", patterns(c.Names, spelled([]command.Flag{f})), valueOf(f).text())
			}
		}
		all, more := operands(b, c)
		for i, o := range all {
			place := fmt.Sprint(i)
			if more && i == len(all)-1 {
				place = "*"
			}
			fmt.Fprintf(&places, "\t%s) echo '%s' ;;\n", patterns(c.Names, []string{place}), o.text())
		}
		if takesCommand(c) {
			fmt.Fprintf(&places, "\t%s) echo '%s %s' ;;\n", patterns(c.Names, []string{"--"}), program, file)
		}
	}
	return strings.NewReplacer("@commands@", strings.Join(namesOf(b.commands), " "),
		"@flags@", flags.String(), "@values@", values.String(), "@operands@", places.String()).Replace(bashScript), nil
}

// spelled returns the names of flags with their dashes.
func spelled(flags []command.Flag) (names []string) {
	for _, f := range flags {
		for _, name := range f.Names {
			names = append(names, dashed(name))
		}
	}
	return names
}

// patterns returns a pattern of case that matches each of names with each of words behind it.
func patterns(names, words []string) string {
	var all []string
	for _, name := range names {
		for _, word := range words {
			if word == "*" {
				all = append(all, fmt.Sprintf("'%s '[0-9]*", name))
			} else {
				all = append(all, fmt.Sprintf("'%s %s'", name, word))
			}
		}
	}
	return strings.Join(all, "|")
}

const bashScript = `# bash completion for zramfs. Written by tools/manuals.

# _zramfs_flags COMMAND prints its flags.
_zramfs_flags() {
	case $1 in
@flags@	esac
}

# _zramfs_value COMMAND FLAG prints what completes its value; it fails for a flag without one.
_zramfs_value() {
	case "$1 $2" in
@values@	*) return 1 ;;
	esac
}

# _zramfs_operand COMMAND PLACE prints what completes the operand there; the first one is 0.
_zramfs_operand() {
	case "$1 $2" in
@operands@	*) return 1 ;;
	esac
}

# _zramfs_offer KINDS WORD adds what begins with WORD.
_zramfs_offer() {
	local kind word=$2
	local -a found
	for kind in $1; do
		found=()
		case $kind in
		DIR) mapfile -t found < <(compgen -d -- "$word"); compopt -o filenames 2>/dev/null ;;
		FILE) mapfile -t found < <(compgen -f -- "$word"); compopt -o filenames 2>/dev/null ;;
		COMMAND) mapfile -t found < <(compgen -c -- "$word") ;;
		PID) mapfile -t found < <(cd /proc && compgen -G "$word*" | grep -x '[0-9]*') ;;
		*=)
			[[ $word != *=* && $kind == "$word"* ]] && found=("$kind")
			compopt -o nospace 2>/dev/null
			;;
		*) [[ $kind == "$word"* ]] && found=("$kind") ;;
		esac
		COMPREPLY+=("${found[@]}")
	done
	# Readline takes what stands behind a colon for the word.
	if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
		COMPREPLY=("${COMPREPLY[@]#"${word%:*}:"}")
	fi
}

_zramfs() {
	local line=${COMP_LINE:0:COMP_POINT} command= rest= kinds word
	local -i i last place=0
	local -a words
	COMPREPLY=()
	read -a words <<<"$line"
	[[ $line == *[[:blank:]] && $line != *\\[[:blank:]] ]] && words+=('')
	last=$((${#words[@]} - 1))
	word=${words[last]}
	for ((i = 1; i < last; i++)); do
		if [[ -n $rest || ${words[i]} != -?* ]]; then
			if [[ -z $command ]]; then command=${words[i]}; else place+=1; fi
		elif [[ ${words[i]} == -- ]]; then
			rest=yes
		elif kinds=$(_zramfs_value "$command" "${words[i]}"); then
			i+=1
			if ((i == last)); then
				_zramfs_offer "$kinds" "$word"
				return
			fi
		fi
	done
	if [[ -z $rest && $word == --*=* ]]; then
		kinds=$(_zramfs_value "$command" "${word%%=*}") && _zramfs_offer "$kinds" "${word#*=}"
		[[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/${word%%=*}=}")
	elif [[ -z $rest && $word == -* ]]; then
		_zramfs_offer "$(_zramfs_flags "$command")" "$word"
	elif [[ -z $command ]]; then
		_zramfs_offer '@commands@' "$word"
	elif [[ -n $rest ]] && kinds=$(_zramfs_operand "$command" --); then
		_zramfs_offer "$kinds" "$word"
	elif kinds=$(_zramfs_operand "$command" $place); then
		_zramfs_offer "$kinds" "$word"
	fi
}

complete -F _zramfs zramfs
`
