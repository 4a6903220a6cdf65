// SPDX-License-Identifier: Apache-2.0

// Package nodepod is what a pod of the DaemonSet does on its node: it installs zramfs there, turns
// compressed swap on outside of the pod, hands a running device over to the program of its image,
// and decides at its end whether swap stays on.
package nodepod

import (
	"errors"
	"fmt"
)

// ErrUsage marks an error in the arguments.
var ErrUsage = errors.New("wrong call")

// A Failed is a command of zramfs that ended with an exit code other than 0, after it said why on
// standard error.
type Failed struct {
	Command string
	Code    int
}

// Error names the command and its code.
func (f *Failed) Error() string {
	return fmt.Sprintf("zramfs %s ended with exit code %d", f.Command, f.Code)
}
