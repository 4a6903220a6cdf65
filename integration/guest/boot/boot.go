// SPDX-License-Identifier: Apache-2.0

// Package boot has what a test and the agent in its virtual machine tell each other.
package boot

// OrderPath is where the first root file system has the [Order], as JSON.
const OrderPath = "/order.json"

// AgentPath is where the agent lies once the machine has its root file system.
const AgentPath = "/run/guest-agent"

// An Order says what the agent does as process 1, before any other program runs.
type Order struct {
	Modules []string          // paths, in the order in which they are loaded
	Sealed  bool              // forbid more modules
	Root    string            // device of the root file system; the first one stays where it is empty
	Files   []string          // moved to the root file system of Root
	Links   map[string]string // symbolic links to make there, and where each leads
	Init    []string          // becomes process 1; the agent where it is empty
}

// A Request has the agent run a command of the shell. Requests run at the same time.
type Request struct {
	ID      int
	Command string
}

// A Reply says what came of the [Request] with this ID. The agent sends one with ID 0 when it
// starts.
type Reply struct {
	ID     int
	Code   int    // exit code; -1 where a signal ended it or it could not start
	Output string // of stdout and stderr
	Error  string // why it could not start, or the signal
}
