// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/settings"
)

// A Description is what the help says of a command, or of the whole program.
type Description struct {
	Names     []string // the usual one first
	Usage     string   // one line, without a period
	Arguments string   // as "[DIR]"
	Text      string   // paragraphs between empty lines; lines of one paragraph are rows of a table, behind its heading
	Flags     []Flag   // those that the help shows, --help included
	Codes     []Code   // those of every command, or this command's own
}

// A Flag is a flag as the help describes it.
type Flag struct {
	Names   []string // without dashes, the usual one first
	Value   string   // the name of its value, as "SIZE"; empty if it has none
	Usage   string   // one line, without a period
	Default string   // empty for none
	Choices []string // the words that it takes, if it takes words alone
}

// A Code is an exit code and what it means.
type Code struct {
	Number  int
	Meaning string // without a period
}

// Describe returns what the help says of the program and of each command that it shows, in its
// order. Manuals and completions are made of it; the program itself does not call it.
func Describe() (program Description, commands []Description) {
	program = Description{Names: []string{programName}, Usage: programUsage, Arguments: "COMMAND [FLAG...] [ARGUMENT...]",
		Flags: describeFlags(globalFlags()), Codes: describeCodes(commonCodes)}
	for _, c := range plainCommands() {
		if c.Hidden {
			continue
		}
		commands = append(commands, Description{Names: c.Names(), Usage: c.Usage, Arguments: c.ArgsUsage, Text: strings.TrimSpace(c.Description),
			Flags: describeFlags(append(c.VisibleFlags(), cli.HelpFlag)), Codes: describeCodes(ownCodes[c.Name])})
	}
	return program, commands
}

// SettingKeys returns the keys that the command set takes.
func SettingKeys() (names []string) {
	for _, k := range settings.Keys() {
		names = append(names, k.Name)
	}
	return names
}

// ConfigKeys returns the keys that a section of the configuration takes.
func ConfigKeys() []string { return config.Keys(configFlags()) }

// ConfigPlaces returns the paths of the configuration, the first that is looked for in front.
func ConfigPlaces() []string { return config.Places() }

func describeCodes(codes []exitMeaning) (all []Code) {
	for _, c := range codes {
		all = append(all, Code{c.code, c.meaning})
	}
	return all
}

func describeFlags(flags []cli.Flag) (all []Flag) {
	for _, f := range flags {
		described := Flag{Names: f.Names()}
		if doc, ok := f.(cli.DocGenerationFlag); ok {
			described.Usage = strings.ReplaceAll(doc.GetUsage(), "`", "")
			if doc.TakesValue() {
				described.Value = valueName(doc.GetUsage())
				described.Default = strings.Trim(doc.GetDefaultText(), `"`)
				described.Choices = choices(described)
			}
		}
		all = append(all, described)
	}
	return all
}

// valueName returns the word that a flag's usage has between backquotes.
func valueName(usage string) string {
	_, rest, _ := strings.Cut(usage, "`")
	name, _, ok := strings.Cut(rest, "`")
	if !ok {
		return "VALUE"
	}
	return name
}

// choices returns the words that a flag takes: algorithms, or those that its usage ends with, as
// ": both, once, pages or none".
func choices(f Flag) (words []string) {
	if f.Names[0] == flagAlgorithm {
		return codec.Algorithms()
	}
	at := strings.LastIndex(f.Usage, ": ")
	if at < 0 {
		return nil
	}
	list := strings.ReplaceAll(f.Usage[at+2:], " or ", ", ")
	for item := range strings.SplitSeq(list, ", ") {
		word, remark, _ := strings.Cut(item, " ")
		switch {
		case item == "a "+f.Value: // as "a POLICY, auto, low or off"
		case word == strings.ToLower(word) && (remark == "" || strings.HasPrefix(remark, "(") && strings.HasSuffix(remark, ")")):
			words = append(words, word)
		default:
			return nil
		}
	}
	if len(words) < 2 {
		return nil
	}
	return words
}
