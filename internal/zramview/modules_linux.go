// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// modules returns /proc/modules with zram in it.
func modules() ([]byte, error) {
	text, err := os.ReadFile(procModules)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without modules has none
		return nil, err
	}
	if !strings.Contains("\n"+string(text), "\nzram ") {
		text = append(text, "zram 0 0 - Live 0x0000000000000000\n"...)
	}
	return text, nil
}

// listModules prints what lsmod does.
func listModules(out io.Writer) error {
	text, err := modules()
	if err != nil {
		return err
	}
	var list strings.Builder
	list.WriteString("Module                  Size  Used by\n")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 3 { // name, size, uses, users and more
			fmt.Fprintf(&list, "%-19s %8s  %s %s\n", f[0], f[1], f[2], strings.Trim(f[3], "-,"))
		}
	}
	_, err = io.WriteString(out, list.String())
	return err
}
