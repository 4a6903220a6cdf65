// SPDX-License-Identifier: Apache-2.0

// Package zramctl reads a command line as zramctl of util-linux does: its options in the order and
// spelling of getopt_long(3), its checks, and its messages, word for word. The oracle is util-linux
// 2.38.1, and for -p and -o +LIST, which came later, its manual page.
package zramctl

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/zramfs/zramfs/internal/term"
)

// Name is the program's name, which messages begin with.
const Name = "zramctl"

// An Action is what a command line asks for.
type Action int

// The actions.
const (
	Status  Action = iota // list devices
	Create                // make or set up a device of Size
	Find                  // name a free device
	Reset                 // end devices
	Help                  // print the help
	Version               // print the version
)

// Options are a command line, read and checked.
type Options struct {
	Action     Action
	Find       bool     // with Create: make a new device, and print its name
	Size       uint64   // bytes, rounded up to whole pages
	Algorithm  string   // empty for the default
	Params     string   // of Algorithm, as level=3
	Streams    uint64   // 0 for the default
	Columns    string   // the list of -o, empty for the usual columns
	AllColumns bool     // --output-all
	Bytes      bool     // sizes in bytes
	NoHeadings bool     // no line of headings
	Raw        bool     // columns divided by single blanks
	Devices    []string // as they were named
}

// An option is a letter, a long name or both.
type option struct {
	letter byte // of options without one: any other value that no other has
	long   string
	value  bool
}

const (
	letterRaw = iota + 1
	letterAll
)

// options are zramctl's, in the order in which getopt_long names what an abbreviation may mean.
var options = []option{
	{'a', "algorithm", true}, {'b', "bytes", false}, {'f', "find", false}, {'h', "help", false}, {'o', "output", true},
	{letterAll, "output-all", false}, {'p', "algorithm-params", true}, {'n', "noheadings", false}, {'r', "reset", false},
	{letterRaw, "raw", false}, {'s', "size", true}, {'t', "streams", true}, {'V', "version", false},
}

// exclusive lists sets of options; a command line may have one option of each set.
var exclusive = []string{"for", "ors"}

// tryHelp is the second line of a message about an option.
const tryHelp = "\nTry 'zramctl --help' for more information."

// A reader reads a command line.
type reader struct {
	Options
	given  []byte // one of each set of exclusive options
	create bool
	reset  bool
	// noColumns is an empty list of columns.
	noColumns bool
}

// Parse reads the words of a command line after the program's name. The text of an error is what
// zramctl prints after its name; the exit code is 1 for all.
func Parse(words []string) (Options, error) {
	r := &reader{given: make([]byte, len(exclusive))}
	for len(words) > 0 && r.Action != Help && r.Action != Version {
		word := words[0]
		words = words[1:]
		var err error
		switch {
		case word == "--":
			r.Devices = append(r.Devices, words...)
			words = nil
		case strings.HasPrefix(word, "--"):
			words, err = r.readLong(word[2:], words)
		case strings.HasPrefix(word, "-") && len(word) > 1:
			words, err = r.readShort(word[1:], words)
		default:
			r.Devices = append(r.Devices, word)
		}
		if err != nil {
			return r.Options, err
		}
	}
	return r.Options, r.check()
}

// readLong reads --name or --name=value; the name may be cut short.
func (r *reader) readLong(word string, rest []string) ([]string, error) {
	name, value, attached := strings.Cut(word, "=")
	o, err := findLong(name, word)
	switch {
	case err != nil:
		return nil, err
	case attached && !o.value:
		return nil, fmt.Errorf("option '--%s' doesn't allow an argument%s", o.long, tryHelp)
	case o.value && !attached && len(rest) == 0:
		return nil, fmt.Errorf("option '--%s' requires an argument%s", o.long, tryHelp)
	case o.value && !attached:
		value, rest = rest[0], rest[1:]
	}
	return rest, r.take(o.letter, value)
}

// findLong returns the option that a name, or the beginning of one, means in word.
func findLong(name, word string) (option, error) {
	var meant []option
	for _, o := range options {
		if o.long == name {
			return o, nil
		}
		if strings.HasPrefix(o.long, name) {
			meant = append(meant, o)
		}
	}
	switch len(meant) {
	case 0:
		return option{}, fmt.Errorf("unrecognized option '--%s'%s", word, tryHelp)
	case 1:
		return meant[0], nil
	}
	text := fmt.Sprintf("option '--%s' is ambiguous; possibilities:", word)
	for _, o := range meant {
		text += " '--" + o.long + "'"
	}
	return option{}, errors.New(text + tryHelp)
}

// readShort reads the letters behind one dash.
func (r *reader) readShort(word string, rest []string) ([]string, error) {
	for len(word) > 0 {
		letter := word[0]
		word = word[1:]
		i := slices.IndexFunc(options, func(o option) bool { return o.letter == letter && letter > letterAll })
		if i < 0 {
			return nil, fmt.Errorf("invalid option -- '%c'%s", letter, tryHelp)
		}
		value := ""
		if options[i].value {
			value, word = word, ""
			if value == "" && len(rest) == 0 {
				return nil, fmt.Errorf("option requires an argument -- '%c'%s", letter, tryHelp)
			}
			if value == "" {
				value, rest = rest[0], rest[1:]
			}
		}
		if err := r.take(letter, value); err != nil || r.Action == Help || r.Action == Version {
			return nil, err
		}
	}
	return rest, nil
}

// take notes an option.
func (r *reader) take(letter byte, value string) (err error) {
	if err := r.exclude(letter); err != nil {
		return err
	}
	switch letter {
	case 'a':
		r.Algorithm = value
	case 'b':
		r.Bytes = true
	case 'f':
		r.Find = true
	case 'h':
		r.Action = Help
	case 'n':
		r.NoHeadings = true
	case 'o':
		r.Columns, r.noColumns = value, value == ""
	case letterAll:
		r.AllColumns = true
	case 'p':
		r.Params = value
	case 'r':
		r.reset = true
	case letterRaw:
		r.Raw = true
	case 's':
		r.create = true
		r.Size, err = parseSize(value)
	case 't':
		r.Streams, err = parseStreams(value)
	case 'V':
		r.Action = Version
	}
	return err
}

// exclude refuses a second option of a set.
func (r *reader) exclude(letter byte) error {
	for i, set := range exclusive {
		if strings.IndexByte(set, letter) < 0 {
			continue
		}
		if r.given[i] != 0 && r.given[i] != letter {
			text := "mutually exclusive arguments:"
			for _, o := range options {
				if strings.IndexByte(set, o.letter) >= 0 {
					text += " --" + o.long
				}
			}
			return errors.New(text)
		}
		r.given[i] = letter
	}
	return nil
}

// check chooses the action.
func (r *reader) check() error {
	switch {
	case r.Action == Help, r.Action == Version:
		return nil
	case r.Find && len(r.Devices) > 0:
		return errors.New("option --find is mutually exclusive with <device>")
	case r.create:
		r.Action = Create
	case r.reset:
		r.Action = Reset
	case r.Find:
		r.Action = Find
	}
	switch {
	case r.Action != Reset && len(r.Devices) > 1:
		return errors.New("only one <device> at a time is allowed")
	case (r.Action == Status || r.Action == Find) && (r.Algorithm != "" || r.Streams != 0):
		return errors.New("options --algorithm and --streams must be combined with --size")
	case (r.Action == Status || r.Action == Find) && r.Params != "":
		return errors.New("options --algorithm, --algorithm-params, and --streams must be combined with --size")
	case r.Action == Reset && len(r.Devices) == 0, r.Action == Create && !r.Find && len(r.Devices) == 0:
		return errors.New("no device specified")
	case r.noColumns:
		return errors.New("") // zramctl fails without a word
	}
	return nil
}

func parseSize(text string) (uint64, error) {
	digits := strings.TrimLeft(text, " \t")
	size, err := term.ParseBytes(digits, 0)
	if err == nil && strings.Trim(digits, "0123456789.bB") == "" && strings.HasSuffix(strings.ToLower(digits), "b") {
		err = errors.New("bytes have no unit here")
	}
	if err == nil {
		return size, nil
	}
	return 0, fmt.Errorf("failed to parse size: '%s': %s", text, Message(syscall.EINVAL))
}

func parseStreams(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimLeft(text, " \t"), 10, 64)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, strconv.ErrRange), strings.HasPrefix(text, "-") && strings.Trim(text[1:], "0123456789") == "" && len(text) > 1:
		return 0, fmt.Errorf("failed to parse streams: '%s': %s", text, Message(syscall.ERANGE))
	}
	return 0, fmt.Errorf("failed to parse streams: '%s'", text)
}

// Message is strerror(3) of an error number for the numbers that zramctl prints, else Go's text of
// it with a capital letter.
func Message(errno syscall.Errno) string {
	text := errno.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}
