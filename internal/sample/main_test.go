// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"os"
	"testing"

	"github.com/zramfs/zramfs/internal/memproc"
)

func TestMain(m *testing.M) {
	memproc.Main()
	os.Exit(m.Run())
}
