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

// Ptxas skips the test unless NVIDIA's assembler starts, and returns its path.
func Ptxas(tb testing.TB) string {
	tb.Helper()
	path, missing := tryPtxas()
	check(tb, namePtxas, missing)
	return path
}

func tryPtxas() (string, *unmet) {
	fix := "tools/get-nvidia.sh DIR, then " + PtxasVariable + "=DIR/ptxas"
	path, err := exec.LookPath(cmp.Or(os.Getenv(PtxasVariable), "ptxas"))
	if err != nil {
		return "", &unmet{err, fix}
	}
	if err := exec.Command(path, "--version").Run(); err != nil {
		return "", &unmet{fmt.Errorf("run %s: %w", path, err), fix}
	}
	return path, nil
}
