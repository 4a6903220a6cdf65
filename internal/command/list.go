// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the devices, as zramctl does",
		ArgsUsage: "[DIR...]",
		Description: "Without DIR every device is listed. NAME is the loop device, the first one of several " +
			"(status shows all), else DIR/dev/zram0.\n\n" +
			"Columns:\n" + columnHelp(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "bytes", Aliases: []string{"b"}, Usage: "print sizes in bytes"},
			&cli.BoolFlag{Name: "noheadings", Aliases: []string{"n"}, Usage: "print no headings"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "print the columns in `LIST`; +LIST adds them to the usual ones"},
			&cli.BoolFlag{Name: "output-all", Usage: "print all columns"},
			&cli.BoolFlag{Name: "raw", Usage: "print one blank between columns, for programs to read"},
			&cli.BoolFlag{Name: "json", Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
		},
		Action: listAction,
	}
}

func listAction(c *cli.Context) error {
	columns, err := listColumnsOf(c)
	if err != nil {
		return err
	}
	dirs, err := dirsNamed(c, c.Args().Slice())
	if err != nil {
		return err
	}
	found, err := swapdev.Find(dirs...)
	if err != nil {
		return err
	}
	if err := printList(c, found, columns); err != nil {
		return err
	}
	return statusErrors(found)
}

// listColumnsOf returns the columns that the flags ask for.
func listColumnsOf(c *cli.Context) ([]listColumn, error) {
	if c.Bool("json") && c.Bool("raw") {
		return nil, usageError("list: mutually exclusive arguments: --json --raw")
	}
	if c.IsSet("output") && c.Bool("output-all") {
		return nil, usageError("list: mutually exclusive arguments: --output --output-all")
	}
	switch {
	case c.Bool("output-all"):
		return listColumns, nil
	case c.IsSet("output"):
		return parseColumns(c.String("output"))
	}
	return parseColumns(defaultColumns)
}

// parseColumns returns the columns that a list of names stands for, upper or lower case, in the
// order of the list; a list that begins with + comes after the usual columns. As in zramctl an
// unknown column is a failure, not a usage error.
func parseColumns(list string) ([]listColumn, error) {
	if added, ok := strings.CutPrefix(list, "+"); ok {
		list = defaultColumns + "," + added
	}
	var columns []listColumn
	for name := range strings.SplitSeq(list, ",") {
		if name == "" {
			return nil, fmt.Errorf("empty column name in %q", list)
		}
		column, ok := findColumn(name)
		if !ok {
			return nil, fmt.Errorf("unknown column: %s", name)
		}
		columns = append(columns, column)
	}
	return columns, nil
}

func printList(c *cli.Context, found []swapdev.Device, columns []listColumn) error {
	var text string
	if c.Bool("json") {
		var err error
		if text, err = listJSON(found, columns); err != nil {
			return err
		}
	} else {
		style := term.Style{Raw: c.Bool("raw"), NoHeadings: c.Bool("noheadings"), UTF8: term.UTF8(), Width: term.Width()}
		text = listTable(found, columns, c.Bool("bytes")).Render(style)
	}
	if _, err := io.WriteString(c.App.Writer, text); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

func listTable(found []swapdev.Device, columns []listColumn, bytes bool) term.Table {
	t := term.Table{Columns: make([]term.Column, len(columns))}
	for i, column := range columns {
		t.Columns[i] = column.Column
	}
	for _, d := range found {
		row := make([]string, len(columns))
		for i, column := range columns {
			row[i] = formatCell(column.value(d), bytes)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// statusErrors joins the reasons for incomplete rows. A mount elsewhere is none: the row says so.
func statusErrors(found []swapdev.Device) error {
	var all error
	for _, d := range found {
		if !errors.Is(d.Err, swapdev.ErrOutOfSight) {
			all = errors.Join(all, d.Err)
		}
	}
	return all
}
