// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/settings"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/internal/zramview"
)

const (
	programName  = "zramfs"
	programUsage = "compressed swap from FUSE and loop, without a kernel module"
)

// Main runs the program with its arguments and returns the exit code; args[0] is the program's
// name. version is a release's, empty for other builds. Call it once.
func Main(version string, args []string) int {
	release = version
	if helper.Run(args, os.Stdout) {
		return exitOK
	}
	// Texts of devices, files and the command line reach no terminal as they are.
	stdout, stderr := term.Printer{Out: os.Stdout}, term.Printer{Out: os.Stderr}
	if code, ours := zramview.Enter(args, stderr); ours {
		return code
	}
	if code, ours := zramview.StandIn(args, stderr); ours {
		return code
	}
	if isZramctl(args) {
		return runZramctl(args, stdout, stderr)
	}
	if isGenerator(args) {
		return runGenerator(args, stderr)
	}
	if isMountHelper(args) {
		return runMountHelper(args, stdout, stderr)
	}
	return run(args, stdout, stderr)
}

// run is Main with its output redirected.
func run(args []string, stdout, stderr io.Writer) int {
	out := &checkedWriter{w: stdout}
	app := newApp(out, stderr)
	err := runApp(app, args)
	if err == nil && out.err != nil {
		err = fmt.Errorf("write standard output: %w", out.err)
	}
	code, message := describe(err)
	if message != "" {
		// Standard error is the last place to report to: a failure to write there is lost.
		_, _ = fmt.Fprintf(stderr, "zramfs: %s\n", message)
	}
	return code
}

func runApp(app *cli.App, args []string) error {
	if err := codec.CheckEnvironment(); err != nil {
		return usageError("%w", err)
	}
	arranged, err := arrange(app, args)
	if err != nil {
		return err
	}
	return app.Run(arranged)
}

// newApp builds the command tree. Errors come back from App.Run: cli itself prints none of them and
// never exits.
func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:            programName,
		HelpName:        programName,
		Usage:           programUsage,
		HideHelpCommand: true,
		HideVersion:     true,
		Writer:          stdout,
		ErrWriter:       stderr,
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    onUsageError,
		Flags:           globalFlags(),
		Action:          rootAction,
		Commands:        commands(),
	}
	tidyFlags(app.Flags)
	return app
}

func globalFlags() []cli.Flag {
	return []cli.Flag{
		cli.HelpFlag, // cli adds it only to programs without a command help
		&cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "print the version and exit"},
	}
}

// Tree returns the commands and their help, in long lines, for what makes manuals of it.
func Tree() *cli.App {
	app := newApp(io.Discard, io.Discard)
	app.Commands = plainCommands()
	return app
}

// commands returns the commands in the order in which the help shows them.
func commands() []*cli.Command {
	all := plainCommands()
	for _, c := range all {
		c.Description = fold(c.Description, helpWidth)
		// Without this a DIR named "help" would be taken for a subcommand.
		c.HideHelpCommand = true
		c.OnUsageError = onUsageError
		switch c.Name {
		case "mount", "up":
			c.Before = outgrow
		case "doctor":
			c.Before = func(*cli.Context) error { return protect.MakeRoom(host.Local, doctorTasks) }
		}
	}
	return all
}

// doctorTasks is the number of threads that doctor needs room for.
const doctorTasks = 24

// outgrow leaves or lifts the inherited limits that would end a device, or the command that starts
// it.
func outgrow(c *cli.Context) error {
	if err := protect.MakeRoom(host.Local, zramfsd.Tasks()); err != nil {
		return err
	}
	return protect.RaiseLimits()
}

// plainCommands returns the commands as their files make them, with their exit codes.
func plainCommands() []*cli.Command {
	all := []*cli.Command{
		upCommand(),
		downCommand(),
		mountCommand(),
		umountCommand(),
		setCommand(),
		configCommand(),
		compactCommand(),
		idleCommand(),
		recompressCommand(),
		upgradeCommand(),
		listCommand(),
		statusCommand(),
		metricsCommand(),
		topCommand(),
		traceCommand(),
		eventsCommand(),
		execCommand(),
		serveCommand(),
		verifyCommand(),
		exportCommand(),
		importCommand(),
		snapshotCommand(),
		estimateCommand(),
		benchCommand(),
		doctorCommand(),
		nodeCommand(),
		versionCommand(),
		helpCommand(),
	}
	for _, c := range all {
		tidyFlags(c.Flags)
		c.Description = strings.TrimSpace(c.Description + exitHelp(c.Name))
	}
	return all
}

// rootAction runs without a command: arrange has refused unknown ones already.
func rootAction(c *cli.Context) error {
	if c.Bool("version") {
		return printVersion(c.Context, c.App.Writer)
	}
	return cli.ShowAppHelp(c)
}

// attributesOnly are the attributes of a device that no command and no key of set stands for.
var attributesOnly = []string{"algorithm_params", "bd_stat", "block_state", "debug_stat", "disksize", "initstate", "io_stat", "max_comp_streams", "mm_stat",
	"reset", "size", "stat", "writeback", "writeback_limit_enable"}

func unknownCommand(app *cli.App, name string) error {
	var names []string
	for _, c := range app.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	switch {
	case settings.IsKey(name):
		return usageError("unknown command %q; did you mean zramfs set %[1]s=VALUE?", name)
	case slices.Contains(attributesOnly, name):
		return usageError("unknown command %q; it is an attribute, the file %s/block/zram0/%[1]s: see docs/attributes.md", name, defaultDir)
	}
	if meant := term.Nearest(name, names); meant != "" {
		return usageError("unknown command %q; did you mean %s? See zramfs --help", name, meant)
	}
	return usageError("unknown command %q; see zramfs --help", name)
}

// badValue matches the flag package's error for an invalid value. arrange has refused unknown flags
// already.
var badValue = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([a-zA-Z-]+): `)

// onUsageError rewords an error of the flag package.
func onUsageError(c *cli.Context, err error, _ bool) error {
	found := badValue.FindStringSubmatch(err.Error())
	if found == nil {
		return usageError("%s: %w", c.Command.Name, err)
	}
	value, name := found[1], found[2]
	return usageError("%s: --%s %s: %s", c.Command.Name, name, value, wrongKind(c.Command.Flags, name))
}

// wrongKind says what a flag's value should have been.
func wrongKind(flags []cli.Flag, name string) string {
	for _, f := range flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *cli.BoolFlag:
			return "neither true nor false"
		case *cli.IntSliceFlag:
			return "not a process number"
		case *cli.IntFlag, *cli.Uint64Flag, *cli.UintFlag:
			return "not a whole number"
		}
	}
	return "not a value of this flag"
}

// checkedWriter remembers the first error of w, so that the program fails if a full disk loses its
// output.
type checkedWriter struct {
	w   io.Writer // immutable
	err error     // used by one goroutine
}

// Raw is for what is written as it is; see term.Raw.
func (c *checkedWriter) Raw() io.Writer { return c.w }

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}
