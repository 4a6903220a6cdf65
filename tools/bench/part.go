// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
)

// partVariable names, in the environment, the part that this process plays: a run
// with swap starts its own program again for what must be a process of its own.
const partVariable = "ZRAMFS_BENCH_PART"

// The parts.
const (
	partLoad  = "load"
	partGuard = "guard"
)

// partCommand returns the command that starts this program to play a part.
func partCommand(part string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), partVariable+"="+part)
	cmd.Stderr = os.Stderr
	return cmd
}

// play plays a part to its end and returns the exit code.
func play(part string, args []string) int {
	var err error
	switch part {
	case partLoad:
		err = playLoad(args, os.Stdin, os.Stdout)
	case partGuard:
		err = playGuard(args, os.Stdin, os.Stdout)
	default:
		err = fmt.Errorf("%s=%s: no such part", partVariable, part)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", part, err)
		return exitFailure
	}
	return 0
}
