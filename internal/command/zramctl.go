// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zramctl"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// isZramctl reports whether the program was started by the name of zramctl.
func isZramctl(args []string) bool {
	return len(args) > 0 && filepath.Base(args[0]) == zramctl.Name
}

// runZramctl is run for a program that was started as zramctl.
func runZramctl(args []string, stdout, stderr io.Writer) int {
	out := &checkedWriter{w: stdout}
	err := zramctlAction(out, args[1:])
	if err == nil && out.err != nil {
		err = fmt.Errorf("write error: %w", out.err)
	}
	if err == nil {
		return exitOK
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line != "" && !strings.HasPrefix(line, "Try ") {
			line = zramctl.Name + ": " + line
		}
		// Standard error is the last place to report to: a failure to write there is lost.
		_, _ = fmt.Fprintln(stderr, line)
	}
	return exitFailure
}

func zramctlAction(out io.Writer, words []string) error {
	o, err := zramctl.Parse(words)
	if err != nil {
		return err
	}
	switch o.Action {
	case zramctl.Help:
		_, err := io.WriteString(out, zramctl.HelpText(columnHelp()))
		return err
	case zramctl.Version:
		_, err := fmt.Fprintf(out, "zramctl from zramfs %s\n", zramfsd.Version(release))
		return err
	}
	found, err := swapdev.Find()
	if err != nil {
		return err
	}
	conf := knownNames("")
	all := zramctl.Number(conf, found)
	switch o.Action {
	case zramctl.Create:
		return zramctlCreate(out, o, conf, all)
	case zramctl.Find:
		_, err := fmt.Fprintln(out, zramctl.NameOf(zramctl.Free(all)))
		return err
	case zramctl.Reset:
		return zramctlReset(o, all)
	}
	return zramctlStatus(out, o, all)
}

// noDevice is zramctl's error for a name without a device.
func noDevice(name string) error {
	return fmt.Errorf("%s: %s", name, zramctl.Message(syscall.ENODEV))
}

// zramctlStatus prints the named device, or all.
func zramctlStatus(out io.Writer, o zramctl.Options, all []zramctl.Numbered) error {
	columns, err := zramctlColumns(o)
	if err != nil {
		return err
	}
	var names []string // a DIR may have two devices, in two mount namespaces
	var shown []swapdev.Device
	for _, z := range all {
		names, shown = append(names, z.Name()), append(shown, *z.Device)
	}
	if len(o.Devices) == 1 {
		z, ok := zramctl.Pick(all, o.Devices[0])
		if !ok || z.Device == nil {
			return noDevice(o.Devices[0])
		}
		names, shown = []string{zramctl.Path(o.Devices[0])}, []swapdev.Device{*z.Device}
	}
	table := listTable(shown, columns, o.Bytes)
	for i, column := range columns {
		for row := range shown {
			if column.Name == "NAME" {
				table.Rows[row][i] = names[row]
			}
		}
	}
	style := term.Style{Raw: o.Raw, NoHeadings: o.NoHeadings, UTF8: term.UTF8(), Width: term.Width()}
	_, err = io.WriteString(out, table.Render(style))
	return err
}

// zramctlColumns returns the columns that the options ask for: those of --output-all, with --output
// instead or, after a +, in addition.
func zramctlColumns(o zramctl.Options) ([]listColumn, error) {
	added, isAdded := strings.CutPrefix(o.Columns, "+")
	switch {
	case o.AllColumns && isAdded:
		more, err := parseColumns(added)
		return append(slices.Clone(listColumns), more...), err
	case o.AllColumns && o.Columns == "":
		return listColumns, nil
	case o.Columns == "":
		return parseColumns(defaultColumns)
	}
	return parseColumns(o.Columns)
}

// zramctlReset ends devices. Like zramctl it goes on after a failure.
func zramctlReset(o zramctl.Options, all []zramctl.Numbered) error {
	var failed error
	for _, name := range o.Devices {
		z, ok := zramctl.Pick(all, name)
		err := error(syscall.ENODEV)
		if ok && z.Device != nil {
			name = zramctl.Path(name)
			if err = endDevice(*z.Device); err == nil { // it is gone, also for its next name
				all = slices.DeleteFunc(all, func(other zramctl.Numbered) bool { return other == z })
			}
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: failed to reset: %s", name, zramctlMessage(err)))
		}
	}
	return failed
}

// zramctlMessage is the text of an error number where there is one.
func zramctlMessage(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return zramctl.Message(errno)
	}
	return term.OneLine(err.Error())
}

// endDevice ends a device that is neither swap nor mounted; the error is EBUSY for others.
func endDevice(d swapdev.Device) error {
	switch {
	case os.Geteuid() != 0:
		return syscall.EACCES
	case len(d.Swaps) > 0 || d.Mountpoint != "":
		return syscall.EBUSY
	}
	// Not by its DIR, which may be another device's here.
	r := swapdev.Down{Out: &swapdev.Narration{Out: io.Discard, How: flagQuiet}}
	if err := r.Run(d); err != nil {
		return errors.New(term.OneLine(err.Error()))
	}
	return nil
}

// runQuiet runs a command of this program; its error is the message.
func runQuiet(name string, args ...string) error {
	var said strings.Builder
	if code := run(append([]string{"zramfs", name, "--" + flagQuiet}, args...), io.Discard, &said); code != exitOK {
		return errors.New(strings.TrimPrefix(strings.TrimSpace(said.String()), "zramfs: "))
	}
	return nil
}
