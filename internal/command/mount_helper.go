// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// mountHelpers are the names by which mount(8) calls the program: for the types zramfs and
// fuse.zramfs.
var mountHelpers = []string{"mount.zramfs", "mount.fuse.zramfs"}

// optionSwap has a mount helper do what up does.
const optionSwap = "swap"

// optionsOfOthers are options of fstab(5) that mount(8), systemd or the kernel act on.
var optionsOfOthers = []string{"_netdev", "nofail", "noauto", "auto", "rw", "defaults", "user", "nouser", "users", "noexec", "nosuid",
	"nodev", "suid", "dev", "exec", "async", "relatime", "noatime", "nodiratime", "strictatime", "lazytime", "sync", "dirsync", "iversion",
	"nosymfollow"}

// Exit codes of mount(8).
const (
	mountUsage   = 1
	mountFailure = 32
)

// isMountHelper reports whether mount(8) started the program.
func isMountHelper(args []string) bool {
	return len(args) > 0 && slices.Contains(mountHelpers, filepath.Base(args[0]))
}

// runMountHelper is run for a program that mount(8) started. Its exit codes are those of mount(8).
func runMountHelper(args []string, stdout, stderr io.Writer) int {
	name := filepath.Base(args[0])
	call, fake, err := readMountCall(args[1:])
	if err != nil {
		// Standard error is the last place to report to: a failure to write there is lost.
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return mountUsage
	}
	if fake {
		return exitOK
	}
	switch run(append([]string{"zramfs"}, call...), stdout, stderr) {
	case exitOK:
		return exitOK
	case exitUsage:
		return mountUsage
	}
	return mountFailure
}

// readMountCall translates "spec dir [-sfnv] [-N namespace] [-t type] [-o options]", the arguments
// of a mount helper (mount(8)), to those of up or mount. fake says that nothing is to be done.
func readMountCall(args []string) (call []string, fake bool, err error) {
	var operands, options []string
	verbose, sloppy := false, false
	for ; len(args) > 0; args = args[1:] {
		switch word := args[0]; {
		case word == "-o" || word == "-N" || word == "-t":
			if len(args) < 2 {
				return nil, false, fmt.Errorf("%s needs a value", word)
			}
			if args = args[1:]; word == "-o" {
				options = append(options, splitOptions(args[0])...)
			}
		case len(word) > 1 && word[0] == '-' && strings.Trim(word[1:], "sfnv") == "":
			fake = fake || strings.Contains(word, "f")
			verbose = verbose || strings.Contains(word, "v")
			sloppy = sloppy || strings.Contains(word, "s")
		case strings.HasPrefix(word, "-"):
			return nil, false, fmt.Errorf("unknown flag %s; mount -t zramfs calls this program", word)
		default:
			operands = append(operands, word)
		}
	}
	if len(operands) != 2 || operands[1] == "" {
		return nil, false, errors.New("name a source, which may be any word, and a directory: mount -t zramfs zram0 /run/zram")
	}
	call, err = deviceCall(options, sloppy)
	if err != nil {
		return nil, false, err
	}
	call = append(call, "--"+flagQuiet)
	if verbose {
		call[len(call)-1] = "--" + flagVerbose
	}
	return append(call, "--", operands[1]), fake, nil
}

// deviceCall returns the command for these options, with a flag for each that is not for others.
func deviceCall(options []string, sloppy bool) ([]string, error) {
	command := mountCommand()
	if slices.Contains(options, optionSwap) {
		command = upCommand()
	}
	call := []string{command.Name}
	for _, option := range options {
		name, value, has := strings.Cut(option, "=")
		if option == "" || option == optionSwap || strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "X-") ||
			slices.Contains(optionsOfOthers, option) {
			continue
		}
		flag := findFlag(command.Flags, name)
		takes, ok := flag.(cli.DocGenerationFlag)
		switch {
		case flag == nil || !ok:
			if sloppy {
				continue
			}
			return nil, fmt.Errorf("unknown option %s: zramfs %s --help lists the flags, which are the options; without the option %s there is no swap",
				name, command.Name, optionSwap)
		case takes.TakesValue() != has:
			return nil, fmt.Errorf("option %s: %s", name, map[bool]string{true: "takes no value", false: "needs a value, as " + name + "=..."}[has])
		case has:
			call = append(call, "--"+name+"="+value)
		default:
			call = append(call, "--"+name)
		}
	}
	return call, nil
}

// findFlag returns the flag whose long name is an option; nil for a hidden or unknown name.
func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if visible, ok := f.(cli.VisibleFlag); ok && visible.IsVisible() && f.Names()[0] == name {
			return f
		}
	}
	return nil
}

// splitOptions divides options at commas that stand neither in quotes nor in brackets, and removes
// the quotes, by which mount(8) keeps a comma in a value.
func splitOptions(text string) (options []string) {
	var word strings.Builder
	quoted, depth := false, 0
	for _, c := range text {
		switch c {
		case '"':
			quoted = !quoted
			continue
		case '(':
			depth++
		case ')':
			depth--
		}
		if c == ',' && !quoted && depth <= 0 {
			options = append(options, word.String())
			word.Reset()
			continue
		}
		word.WriteRune(c)
	}
	return append(options, word.String())
}
