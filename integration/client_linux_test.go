// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

const (
	// clientVariable makes the test binary play a registered part instead of
	// running tests; its value is the part's name.
	clientVariable = "ZRAMFS_INTEGRATION_CLIENT"
	// clientTimeout bounds a client, unless its test says otherwise.
	clientTimeout = 60 * time.Second
)

// clients are the parts that the test binary can play, by name.
var clients = map[string]func(args []string) error{}

// register makes f a part for client and returns name. It is called to
// initialise package-level variables:
//
//	var writePages = register("write-pages", func(args []string) error {…})
func register(name string, f func(args []string) error) string {
	if clients[name] != nil {
		panic("two clients are named " + name)
	}
	clients[name] = f
	return name
}

func playClient(name string, args []string) (code int) {
	f := clients[name]
	if f == nil {
		fmt.Fprintln(os.Stderr, "no client is named", name)
		return 1
	}
	if err := f(args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// clientCommand returns a command that plays a part in a process of its own. It
// can be given to another user: the path is that of the running program itself.
func clientCommand(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), clientVariable+"="+name)
	cmd.Dir = "/"
	cmd.WaitDelay = killGrace
	return cmd
}

// client plays a part to its end, in a process that is killed when it takes
// longer than clientTimeout, and returns its standard output. The test ends when
// the part fails.
func client(t testing.TB, name string, args ...string) string {
	t.Helper()
	return clientFor(t, clientTimeout, name, args...)
}

// clientFor is client with another limit on the time.
func clientFor(t testing.TB, timeout time.Duration, name string, args ...string) string {
	t.Helper()
	r := runCommand(t, timeout, clientCommand(t.Context(), name, args...))
	if r.Code != 0 {
		t.Fatalf("client %s %q: exit code %d\n%s%s", name, args, r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}
