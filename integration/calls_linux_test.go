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

// No kernel lacks the memory for a ppoll for ever, so no loop has that.
func TestCallsLeaveOutWhatNoKernelGives(t *testing.T) {
	l := callLoop{kinds: map[string]int{}, once: func(t *testing.T, arm armed) failing {
		t.Errorf("a loop has calls fail as no kernel does: %+v", arm)
		return failing{}
	}}
	l.fail(t, "keeper ppoll", 1, true)
}

// writeAndRead works on a device from another process.
func writeAndRead(t testing.TB, dir string) {
	t.Helper()
	client(t, tryPart, data(dir))
}

// tryPart is the client that writes to a data file and reads it back.
var tryPart = register("try-data", func(args []string) error { return tryData(args[0]) })
