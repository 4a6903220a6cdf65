// SPDX-License-Identifier: Apache-2.0

// Package dicttest makes an algorithm with a dictionary, for tests.
package dicttest

import (
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
)

// Algorithm returns zstd at level 1 with a dictionary of generated pages, and the dictionary's
// bytes. Its name says that they come from the file /none, which does not exist.
func Algorithm(t *testing.T) (a codec.Algorithm, data []byte) {
	t.Helper()
	data, err := codec.TrainDictionary(pages.Generate(pages.Text, 400, 5), 1, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	if a, err = codec.Parse("zstd(level=1,dict=/none)"); err != nil {
		t.Fatal(err)
	}
	if a, err = a.WithDictionary("/none", data); err != nil {
		t.Fatal(err)
	}
	return a, data
}
