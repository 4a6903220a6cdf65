// SPDX-License-Identifier: Apache-2.0

package pagefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Variable is the environment variable that names the page file to use.
const Variable = "ZRAMFS_PAGES"

// defaultName is where the page file lies below the module's root.
const defaultName = ".cache/pages.zpg"

// Find returns the path of the page file to use: what the environment variable
// ZRAMFS_PAGES names, else [Default]. The error wraps fs.ErrNotExist when there
// is no file there.
func Find() (string, error) {
	path := os.Getenv(Variable)
	if path == "" {
		var err error
		if path, err = Default(); err != nil {
			return "", err
		}
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find page file: %w", err)
	}
	return path, nil
}

// Default returns where the page file of this module belongs, whether it exists
// or not: .cache/pages.zpg next to the go.mod file in the nearest directory
// upwards from the working directory.
func Default() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find page file: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		switch {
		case err == nil:
			return filepath.Join(dir, defaultName), nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("find page file: %w", err)
		case dir == filepath.Dir(dir):
			return "", fmt.Errorf("find page file: no go.mod in %s or above, and %s is not set: %w", start, Variable, fs.ErrNotExist)
		}
	}
}
