// SPDX-License-Identifier: Apache-2.0

package require

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// LibcudaVariable is the environment variable that names the directory of NVIDIA's driver library.
const LibcudaVariable = "ZRAMFS_LIBCUDA"

// Libcuda skips the test unless there is a copy of NVIDIA's driver library for tests, and no GPU
// that the library could find. It returns the directory for LD_LIBRARY_PATH.
func Libcuda(tb testing.TB) string {
	tb.Helper()
	dir, missing := tryLibcuda()
	check(tb, nameLibcuda, missing)
	return dir
}

func tryLibcuda() (string, *unmet) {
	fix := "tools/get-nvidia.sh DIR libcuda, then " + LibcudaVariable + "=DIR"
	dir := os.Getenv(LibcudaVariable)
	if dir == "" {
		return "", &unmet{errors.New(LibcudaVariable + " is not set"), fix}
	}
	if _, err := os.Stat(filepath.Join(dir, "libcuda.so.1")); err != nil {
		return "", &unmet{err, fix}
	}
	// A device file proves nothing: the library makes one if it may, even without a GPU.
	if _, err := os.Stat("/proc/driver/nvidia"); err == nil {
		return "", &unmet{errors.New("this machine has NVIDIA's driver"), "a machine without it"}
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", &unmet{fmt.Errorf("find %s: %w", dir, err), fix}
	}
	return absolute, nil
}
