// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// needCalls skips a test of failing calls where it cannot be.
func needCalls(t *testing.T) {
	t.Helper()
	require.Root(t)
	require.FUSE(t)
	binary(t)
}

// writeAndRead works on a device from another process.
func writeAndRead(t testing.TB, dir string) {
	t.Helper()
	client(t, tryPart, data(dir))
}

// tryPart is the client that writes to a data file and reads it back.
var tryPart = register("try-data", func(args []string) error { return tryData(args[0]) })
