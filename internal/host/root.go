// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Root is the directory that the files of a machine lie below. Names of files are relative to it.
type Root string

// Local is the machine that the process runs on.
const Local Root = "/"

// Path returns the path of a file whose name these elements make.
func (r Root) Path(elem ...string) string { return filepath.Join(string(r), filepath.Join(elem...)) }

// exists reports whether a file is there.
func (r Root) exists(name string) bool {
	_, err := os.Stat(r.Path(name))
	return err == nil
}

// Read returns the text of a file without white space around it.
func (r Root) Read(name string) (string, error) {
	text, err := os.ReadFile(r.Path(name))
	return strings.TrimSpace(string(text)), err
}

// number returns the decimal number in a file.
func (r Root) number(name string) (uint64, error) {
	text, err := r.Read(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", r.Path(name), err)
	}
	return n, nil
}

// Field returns the value of a line "field: value" of a file, such as proc/self/status and
// proc/meminfo.
func (r Root) Field(name, field string) (string, error) {
	text, err := os.ReadFile(r.Path(name))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == field {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("read %s: no %s in it", r.Path(name), field)
}

// kibibytes returns the value of a line "field: 123 kB" of a file, in bytes.
func (r Root) kibibytes(name, field string) (uint64, error) {
	text, err := r.Field(name, field)
	if err != nil {
		return 0, err
	}
	kib, err := strconv.ParseUint(strings.TrimSuffix(text, " kB"), 10, 54)
	if err != nil {
		return 0, fmt.Errorf("read %s: %s: %w", r.Path(name), field, err)
	}
	return kib << 10, nil
}

// TryOpen opens a file with these flags of [os.OpenFile] and closes it again. Nothing else shows
// that a control group denies a device.
func (r Root) TryOpen(name string, flags int) error {
	f, err := os.OpenFile(r.Path(name), flags, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// WriteControl writes to a control file, which it does not create.
func (r Root) WriteControl(name, value string) error {
	f, err := os.OpenFile(r.Path(name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
