// SPDX-License-Identifier: Apache-2.0

// Package onhost reaches the node from a privileged pod with hostPID: it installs programs there,
// runs them in the namespaces of process 1, and starts what has to outlive the pod outside of the
// pod's control group.
package onhost

import (
	"errors"
	"path/filepath"
)

// ErrNoHostPID means that process 1 is not that of the node.
var ErrNoHostPID = errors.New("the processes of the node are not in sight: give the pod hostPID: true and privileged: true")

// ErrNoProgram means that the node does not have the program to run.
var ErrNoProgram = errors.New("the program is not on the node")

// Path is where programs of the node are looked for.
const Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin"

// current is the link to the directory of the programs that were installed last.
const current = "current"

// Programs is the directory of the installed programs below dir. It stays the same when others are
// installed.
func Programs(dir string) string { return filepath.Join(dir, current) }
