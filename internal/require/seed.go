// SPDX-License-Identifier: Apache-2.0

package require

import (
	"os"
	"strconv"
	"testing"
)

// SeedVariable is the environment variable that holds another seed for tests that draw their
// inputs; make explore sets it.
const SeedVariable = "ZRAMFS_SEED"

// Seed returns what a test draws its inputs from: the seed of the environment, or else the fixed
// one, so that each run tests the same. The log has it.
func Seed(tb testing.TB, fixed uint64) uint64 {
	tb.Helper()
	seed := fixed
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("%s: %v", SeedVariable, err)
		}
	}
	tb.Logf("%s=%d", SeedVariable, seed)
	return seed
}
