// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// trialApp has a command with flags of each kind that hands what cli made of its words to got.
func trialApp(got *string) *cli.App {
	return &cli.App{
		Name: "zramfs", Writer: io.Discard, ErrWriter: io.Discard, HideHelpCommand: true,
		ExitErrHandler: func(*cli.Context, error) {},
		Flags:          []cli.Flag{&cli.BoolFlag{Name: "version", Aliases: []string{"V"}}},
		Commands: []*cli.Command{{
			Name: "mount", Aliases: []string{"mnt"}, HideHelpCommand: true,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "size", Aliases: []string{"s"}, Value: "auto"},
				&cli.IntFlag{Name: "priority", Aliases: []string{"p"}, Value: 100},
				&cli.BoolFlag{Name: "force", Aliases: []string{"f"}},
				&cli.BoolFlag{Name: "json", Aliases: []string{"J"}},
			},
			Action: func(c *cli.Context) error {
				*got = fmt.Sprintf("size=%s priority=%d force=%t json=%t %q", c.String("size"), c.Int("priority"),
					c.Bool("force"), c.Bool("json"), c.Args().Slice())
				return nil
			},
		}},
	}
}

func TestReorder(t *testing.T) {
	const auto = "size=auto priority=100 force=false json=false "
	tests := []struct{ line, want string }{
		{"mount", auto + `[]`},
		{"mount /run/zram", auto + `["/run/zram"]`},
		{"mount /run/zram --size 4G", `size=4G priority=100 force=false json=false ["/run/zram"]`},
		{"mount --size 4G /run/zram", `size=4G priority=100 force=false json=false ["/run/zram"]`},
		{"mount /run/zram --size=4G", `size=4G priority=100 force=false json=false ["/run/zram"]`},
		{"mount /run/zram -s 4G", `size=4G priority=100 force=false json=false ["/run/zram"]`},
		{"mount /run/zram -s=4G", `size=4G priority=100 force=false json=false ["/run/zram"]`},
		{"mount /run/zram -s4G", `size=4G priority=100 force=false json=false ["/run/zram"]`},
		{"mount /run/zram -size 4G", `size=4G priority=100 force=false json=false ["/run/zram"]`},
		{"mount --size= /run/zram", `size= priority=100 force=false json=false ["/run/zram"]`},
		{"mnt a -f b", `size=auto priority=100 force=true json=false ["a" "b"]`},
		{"mount a --force b -p 5 c -J", `size=auto priority=5 force=true json=true ["a" "b" "c"]`},
		{"mount a -p -1", `size=auto priority=-1 force=false json=false ["a"]`},
		{"mount a -s -f", `size=-f priority=100 force=false json=false ["a"]`},
		{"mount a -s --", `size=-- priority=100 force=false json=false ["a"]`},
		{"mount -fJ a", `size=auto priority=100 force=true json=true ["a"]`},
		{"mount a -fJs 4G b", `size=4G priority=100 force=true json=true ["a" "b"]`},
		{"mount a -fJs4G b", `size=4G priority=100 force=true json=true ["a" "b"]`},
		{"mount a -fs=4G b", `size=4G priority=100 force=true json=false ["a" "b"]`},
		{"mount a --force=false", auto + `["a"]`},
		{"mount a -f=true", `size=auto priority=100 force=true json=false ["a"]`},
		{"mount a -s 1G -s 2G --size 3G", `size=3G priority=100 force=false json=false ["a"]`},
		{"mount a -- -f --size", auto + `["a" "-f" "--size"]`},
		{"mount -f -- -f", `size=auto priority=100 force=true json=false ["-f"]`},
		{"mount --", auto + `[]`},
		{"mount a -- -- b", auto + `["a" "--" "b"]`},
		{"mount - -f", `size=auto priority=100 force=true json=false ["-"]`},
		{"mount help", auto + `["help"]`},
		{"mount size -s 1G", `size=1G priority=100 force=false json=false ["size"]`},
		{"mount json -J force", `size=auto priority=100 force=false json=true ["json" "force"]`},
		{"-- mount a -f", `size=auto priority=100 force=true json=false ["a"]`},
	}
	for _, test := range tests {
		got := ""
		app := trialApp(&got)
		args, err := arrange(app, append([]string{"zramfs"}, strings.Fields(test.line)...))
		if err == nil {
			err = app.Run(args)
		}
		if err != nil || got != test.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", test.line, got, err, test.want)
		}
	}
}

// Help is about the command, whatever else stands on the line.
func TestReorderHelp(t *testing.T) {
	for _, line := range []string{"mount --help", "mount a --help", "mount -h a b", "mount -fh a"} {
		got := ""
		app := trialApp(&got)
		var text strings.Builder
		app.Writer = &text
		args, err := arrange(app, append([]string{"zramfs"}, strings.Fields(line)...))
		if err == nil {
			err = app.Run(args)
		}
		if err != nil || got != "" || !strings.Contains(text.String(), "mount") {
			t.Errorf("%s: ran %q, printed %q, %v", line, got, text.String(), err)
		}
	}
}

func TestReorderRefuses(t *testing.T) {
	tests := []struct{ line, want string }{
		{"mount a --sise 4G", "mount: unknown flag --sise; did you mean --size? See zramfs mount --help"},
		{"mount a --sise=4G", "mount: unknown flag --sise; did you mean --size? See zramfs mount --help"},
		{"mount a -x", "mount: unknown flag -x; see zramfs mount --help"},
		{"mount a -fx", "mount: unknown flag -x in -fx; see zramfs mount --help"},
		{"mount a -force=x -y=1", "mount: unknown flag -y=1; see zramfs mount --help"},
		{"mount a --size", "mount: flag --size needs a value; see zramfs mount --help"},
		{"mount a -fs", "mount: flag -s needs a value; see zramfs mount --help"},
		{"mount ---size 4G", "mount: unknown flag ---size; did you mean --size? See zramfs mount --help"},
		{"mount --=4G", "mount: unknown flag --; see zramfs mount --help"},
		{"mount -=4G", "mount: unknown flag -=4G; see zramfs mount --help"},
		{"mount -é", "mount: unknown flag -é; see zramfs mount --help"},
		{"--size 4G mount a", "unknown flag --size; see zramfs --help"},
		{"umount a", `unknown command "umount"; did you mean mount? See zramfs --help`},
		{"-", `unknown command "-"; see zramfs --help`},
	}
	for _, test := range tests {
		app := trialApp(new(string))
		_, err := arrange(app, append([]string{"zramfs"}, strings.Fields(test.line)...))
		if code, text := describe(err); code != exitUsage || text != test.want {
			t.Errorf("%s:\n got %d, %s\nwant %d, %s", test.line, code, text, exitUsage, test.want)
		}
	}
}

// TestReorderEveryPlace puts flags into every place among the arguments: the place must not matter.
func TestReorderEveryPlace(t *testing.T) {
	flags := [][]string{{"-s", "4G"}, {"--priority=7"}, {"-fJ"}}
	const want = `size=4G priority=7 force=true json=true ["a" "b"]`
	places := 0
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				words := []string{"zramfs", "mount"}
				for place := range 3 {
					for n, at := range []int{i, j, k} {
						if at == place {
							words = append(words, flags[n]...)
						}
					}
					if place < 2 {
						words = append(words, []string{"a", "b"}[place])
					}
				}
				got := ""
				app := trialApp(&got)
				args, err := arrange(app, words)
				if err != nil {
					t.Fatalf("%q: %v", words, err)
				}
				if err := app.Run(args); err != nil || got != want {
					t.Errorf("%q: got %s, %v; want %s", words, got, err, want)
				}
				places++
			}
		}
	}
	if places != 27 {
		t.Errorf("tried %d places, want 27", places)
	}
}

// TestReorderOurFlags wants every flag of the real commands to be known by every one of its names.
func TestReorderOurFlags(t *testing.T) {
	app := newApp(io.Discard, io.Discard)
	for _, c := range app.Commands {
		for _, f := range c.Flags {
			for _, name := range f.Names() {
				words := []string{"zramfs", c.Name, "operand", "--" + name}
				if f.(cli.DocGenerationFlag).TakesValue() {
					words = append(words, "1")
				}
				args, err := arrange(app, words)
				if err != nil || args[len(args)-1] != "operand" || !slices.Contains(args, "--") {
					t.Errorf("%q: %q, %v", words, args, err)
				}
			}
		}
	}
}

// FuzzReorder wants any words either refused or arranged so that cli reads the same flags and
// arguments from them again.
func FuzzReorder(f *testing.F) {
	for _, seed := range []string{"a -s 4G b", "-fJs4G", "-- -f", "--size=", "-é", "- -- -", "-s -- a", "\xff -\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := append([]string{"zramfs", "mount"}, strings.Split(line, " ")...)
		first, second := "", ""
		app := trialApp(&first)
		args, err := arrange(app, words)
		if err != nil {
			return
		}
		runErr := app.Run(args)
		app = trialApp(&second)
		again, err := arrange(app, args)
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", words, args, err)
		}
		if !slices.Equal(args, again) {
			t.Errorf("%q became %q and then %q", words, args, again)
		}
		if err := app.Run(again); (err == nil) != (runErr == nil) || first != second {
			t.Errorf("%q: %s, %v; again %s, %v", words, first, runErr, second, err)
		}
	})
}
