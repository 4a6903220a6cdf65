// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// binaryVariable names a program to test instead of building one.
	binaryVariable = "ZRAMFS_BINARY"
	buildTimeout   = 5 * time.Minute
)

// built puts the program below root, once: from binaryVariable or by the Go
// command. It is always a copy, so that its processes can be told from others.
var built = sync.OnceValues(func() (string, error) {
	path := programBelow(root)
	if given := os.Getenv(binaryVariable); given != "" {
		return path, copyProgram(path, given)
	}
	return path, build(path, "", "cmd/zramfs")
})

// copyProgram copies the program that a test was given.
func copyProgram(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("%s: %w", binaryVariable, err)
	}
	return os.WriteFile(to, content, 0o755)
}

// build builds a program of the module at path, from the packages that make build has compiled.
// The flags are the linker's.
func build(path, tags, program string, link ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", tags, "-ldflags", strings.Join(link, " "), "-o", path, "github.com/zramfs/zramfs/"+program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return nil
}

// binary returns the path of the program, built once a run. Every user may
// execute it.
func binary(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// builtPoints is a program that has the points, built once.
var builtPoints = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(programBelow(root)), "zramfs-points")
	return path, build(path, "invariants", "cmd/zramfs")
})

// gpuBuilt is the program with GPUs that are simulated, built once: the test binary of package
// command, which can behave as the program.
var gpuBuilt = sync.OnceValues(func() (string, error) {
	path := filepath.Join(root, "bin", "zramfs-gpus")
	build := exec.Command("go", "test", "-c", "-vet=off", "-trimpath", "-tags", "cuda", "-o", path, "github.com/zramfs/zramfs/internal/command")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program with GPUs: %w\n%s", err, out)
	}
	return path, nil
})
