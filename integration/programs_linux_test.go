// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/zramfsd"
)

const (
	// binaryVariable names a program to test instead of building one. Its server is next to it.
	binaryVariable = "ZRAMFS_BINARY"
	buildTimeout   = 5 * time.Minute
)

// built puts the two programs below root, once: from binaryVariable or by the Go command. They are
// always copies, so that their processes can be told from others.
var built = sync.OnceValues(func() (string, error) {
	path := programBelow(root)
	if given := os.Getenv(binaryVariable); given != "" {
		return path, errors.Join(copyProgram(path, given), copyProgram(serverBeside(path), serverBeside(given)))
	}
	return path, buildBoth(path, "")
})

// serverBeside is the server next to a program.
func serverBeside(program string) string { return filepath.Join(filepath.Dir(program), zramfsd.Name) }

// buildBoth builds the program at path and the server next to it.
func buildBoth(path, tags string, link ...string) error {
	return errors.Join(build(path, tags, "cmd/zramfs", link...), build(serverBeside(path), tags, "cmd/zramfsd", link...))
}

// copyProgram copies a program that a test was given.
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

// builtPoints is a program whose server has the points, built once.
var builtPoints = sync.OnceValues(func() (string, error) {
	path := filepath.Join(root, "bin", "points", "zramfs")
	return path, buildBoth(path, "invariants")
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
