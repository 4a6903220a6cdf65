// SPDX-License-Identifier: Apache-2.0

package require

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// PtxasVariable is the environment variable that names NVIDIA's assembler where it is not in PATH.
const PtxasVariable = "ZRAMFS_PTXAS"

// Ptxas skips the test unless NVIDIA's assembler is there, and returns its path. It is run once, to
// see that it starts.
func Ptxas(tb testing.TB) string {
	tb.Helper()
	path, missing := tryPtxas()
	check(tb, namePtxas, missing)
	return path
}

func tryPtxas() (string, *unmet) {
	mend := "tools/get-nvidia.sh DIR, then " + PtxasVariable + "=DIR/ptxas"
	path, err := exec.LookPath(cmp.Or(os.Getenv(PtxasVariable), "ptxas"))
	if err != nil {
		return "", &unmet{err, mend}
	}
	if err := exec.Command(path, "--version").Run(); err != nil {
		return "", &unmet{fmt.Errorf("run %s: %w", path, err), mend}
	}
	return path, nil
}
