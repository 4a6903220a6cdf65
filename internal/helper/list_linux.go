// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"encoding/json"
	"io/fs"
	"os"
)

// An Entry is a file in a directory.
type Entry struct {
	Name string      `json:"name"`
	Mode fs.FileMode `json:"mode"` // type and permissions
}

// list returns the entries of a directory in the order of their names.
func list(dir string) ([]byte, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(found))
	for _, f := range found {
		info, err := f.Info()
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{f.Name(), info.Mode()})
	}
	return json.Marshal(entries)
}
