// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"os"
	"testing"

	"github.com/zramfs/zramfs/internal/held"
)

func TestMain(m *testing.M) {
	held.Main()
	os.Exit(m.Run())
}
