// SPDX-License-Identifier: Apache-2.0

// Package conform checks manifests against schemas of a Kubernetes API server, and that they are
// from the chart as it is. It needs neither Helm nor a cluster.
package conform

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Chart is the directory of the chart, relative to the root of the tree.
const Chart = "dist/helm/zramfs"

// Digest returns the SHA-256 of the names and contents of all files of the chart, in hexadecimal.
func Digest(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		fmt.Fprintf(sum, "%s\x00%d\x00%s", filepath.ToSlash(name), len(text), text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}
