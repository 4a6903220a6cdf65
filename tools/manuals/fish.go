// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/internal/command"
)

// fish writes the completion for fish: one line for each command, flag and operand.
func fish(b book) (string, error) {
	var out strings.Builder
	out.WriteString(fishScript)
	for _, f := range b.program.Flags {
		fishFlag(&out, "__zramfs_using", f)
	}
	for _, c := range b.commands {
		fmt.Fprintf(&out, "complete -c zramfs -n __zramfs_using -a %s -d %s\n", fishQuote(strings.Join(c.Names, " ")), fishQuote(c.Usage))
	}
	for _, c := range b.commands {
		using := "__zramfs_using " + strings.Join(c.Names, " ")
		for _, f := range c.Flags {
			fishFlag(&out, using, f)
		}
		places, _ := operands(b, c)
		if takesCommand(c) {
			places = append(places, operand{kind: program})
		}
		for _, o := range places {
			fmt.Fprintf(&out, "complete -c zramfs -n %s%s\n", fishQuote(using), fishAnswers(o))
		}
	}
	return out.String(), nil
}

func fishFlag(out *strings.Builder, using string, f command.Flag) {
	fmt.Fprintf(out, "complete -c zramfs -n %s", fishQuote(using))
	for _, name := range f.Names {
		if len(name) == 1 {
			fmt.Fprintf(out, " -s %s", name)
		} else {
			fmt.Fprintf(out, " -l %s", name)
		}
	}
	if f.Value != "" {
		fmt.Fprintf(out, " -r%s", fishAnswers(valueOf(f)))
	}
	fmt.Fprintf(out, " -d %s\n", fishQuote(f.Usage))
}

// fishAnswers returns the flags of complete that offer an operand.
func fishAnswers(o operand) string {
	words := strings.Join(o.words, " ")
	switch o.kind {
	case directory:
		words += " (__fish_complete_directories)"
	case process:
		words += " (__fish_complete_pids)"
	case program:
		words += " (__fish_complete_command)"
	case file:
		return " -F"
	}
	if words == "" {
		return " -f"
	}
	return " -f -a " + fishQuote(strings.TrimSpace(words))
}

// fishQuote makes s one word of fish.
func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

const fishScript = `# fish completion for zramfs. Written by tools/manuals.

# Whether the command of the line is among the arguments; without any, whether there is none yet.
function __zramfs_using
	for word in (commandline -opc)[2..]
		if not string match -q -- '-*' $word
			contains -- $word $argv
			return
		end
	end
	test (count $argv) -eq 0
end

complete -c zramfs -f
`
