// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/term"
)

// cli v2 stops looking for flags at the first argument: in `mount /run/zram --size 4G` it would
// take --size and 4G for two more directories. So arrange puts the command line in order before cli
// sees it: the flags first, each as --name or --name=value, then "--", then the arguments.

// knownFlag describes a flag as far as parsing needs it.
type knownFlag struct {
	name       string // the first name, which cli gets
	takesValue bool
	hidden     bool // of processes of our own
}

// flagTable finds a flag by any of its names.
type flagTable map[string]knownFlag

// newFlagTable indexes flags and, since cli adds it to every command, the help flag.
func newFlagTable(flags []cli.Flag) flagTable {
	t := make(flagTable)
	for _, f := range append([]cli.Flag{cli.HelpFlag}, flags...) {
		names := f.Names()
		known := knownFlag{name: names[0]}
		if doc, ok := f.(cli.DocGenerationFlag); ok {
			known.takesValue = doc.TakesValue()
		}
		if visible, ok := f.(cli.VisibleFlag); ok {
			known.hidden = !visible.IsVisible()
		}
		for _, name := range names {
			t[name] = known
		}
	}
	return t
}

// arrange returns args with the flags of the command before its arguments. Unknown commands,
// unknown flags and missing values are usage errors here, since later their spelling is lost.
func arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return []string{app.Name}, nil
	}
	global, rest, err := newFlagTable(app.Flags).split(args[1:], true)
	if err != nil {
		return nil, usageError("%w; see zramfs --help", err)
	}
	out := append([]string{args[0]}, global...)
	if len(rest) == 0 {
		return out, nil
	}
	command := app.Command(rest[0])
	if command == nil {
		return nil, unknownCommand(app, rest[0])
	}
	words, tail := rest[1:], []string(nil)
	if at := slices.Index(words, "--"); at >= 0 && command.Name == execName {
		words, tail = words[:at], words[at:] // "--" and a command line, which is not ours to read
	}
	flags, operands, err := newFlagTable(command.Flags).split(words, command.Name == nodeName)
	operands = append(operands, tail...)
	if err != nil {
		see := fmt.Sprintf("; see zramfs %s --help", command.Name)
		if at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }); command.Name == setName && at >= 0 {
			see = asSetting(words[at]) + see
		} else if strings.HasSuffix(err.Error(), "?") {
			see = " S" + strings.TrimPrefix(see, "; s")
		}
		return nil, usageError("%s: %w%s", command.Name, err, see)
	}
	out = append(out, rest[0])
	out = append(out, flags...)
	// With --help, cli would take an operand for the topic: mount --help /run/zram, bench codec
	// --help.
	if len(operands) > 0 && !slices.Contains(flags, "--"+cli.HelpFlag.Names()[0]) {
		out = append(out, "--")
		out = append(out, operands...)
	}
	return out, nil
}

// split separates flags, in the form --name or --name=value, from operands. With stop it ends at
// the first operand and returns everything from there on untouched.
//
// It reads what cli and getopt_long(3) read: -s 4G, -s=4G, -s4G, --size 4G, --size=4G, -size 4G,
// one-letter flags in a bundle (-bn, -bno NAME), "--" as the end of the flags, "-" as an operand.
// The word after a flag that takes a value is its value whatever it looks like.
func (t flagTable) split(args []string, stop bool) (flags, operands []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			return flags, append(operands, args[1:]...), nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			if stop {
				return flags, args, nil
			}
			operands = append(operands, arg)
			args = args[1:]
			continue
		}
		found, taken, err := t.read(args)
		if err != nil {
			return nil, nil, err
		}
		flags = append(flags, found...)
		args = args[taken:]
	}
	return flags, operands, nil
}

// read reads the flag or the bundle of flags in args[0] and returns the number of words read: one,
// or two with a value.
func (t flagTable) read(args []string) (flags []string, taken int, err error) {
	word := strings.TrimPrefix(args[0], "-")
	long := strings.HasPrefix(word, "-")
	name, value, attached := strings.Cut(strings.TrimPrefix(word, "-"), "=")
	if flag, ok := t[name]; ok {
		if attached || !flag.takesValue {
			return []string{flag.text(value, attached)}, 1, nil
		}
		return readValue(nil, flag, args[0], args)
	}
	if long {
		return nil, 0, flagError("unknown flag --" + name + t.nearest(name))
	}
	return t.readBundle(word, args)
}

// readBundle reads one-letter flags that stand together behind one dash. The first that takes a
// value ends it: the rest of the word is the value, or the next word if there is no rest.
func (t flagTable) readBundle(word string, args []string) (flags []string, taken int, err error) {
	for i, letter := range word {
		flag, ok := t[string(letter)]
		if !ok && i == 0 {
			return nil, 0, flagError("unknown flag " + args[0] + t.nearest(word))
		}
		if !ok {
			return nil, 0, flagError("unknown flag -" + string(letter) + " in " + args[0])
		}
		if !flag.takesValue {
			flags = append(flags, flag.text("", false))
			continue
		}
		rest := word[i+utf8.RuneLen(letter):]
		if rest == "" {
			return readValue(flags, flag, "-"+string(letter), args)
		}
		return append(flags, flag.text(strings.TrimPrefix(rest, "="), true)), 1, nil
	}
	return flags, 1, nil
}

// nearest is a question for an unknown flag, behind a semicolon; empty if no flag is near.
func (t flagTable) nearest(word string) string {
	name, _, _ := strings.Cut(word, "=")
	var names []string
	for n, flag := range t {
		if len(n) > 1 && !flag.hidden {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	if meant := term.Nearest(name, names); meant != "" {
		return "; did you mean --" + meant + "?"
	}
	return ""
}

// readValue takes the word after args[0] as the value of flag, which was spelled as given.
func readValue(before []string, flag knownFlag, spelled string, args []string) ([]string, int, error) {
	if len(args) < 2 {
		return nil, 0, flagError("flag " + spelled + " needs a value")
	}
	return append(before, flag.text(args[1], true)), 2, nil
}

func (f knownFlag) text(value string, hasValue bool) string {
	if hasValue {
		return "--" + f.name + "=" + value
	}
	return "--" + f.name
}

// flagError is an error in a flag. arrange adds the command and makes it a usage error.
type flagError string

// Error implements error.
func (e flagError) Error() string { return string(e) }
