// SPDX-License-Identifier: Apache-2.0

// Command agent is what package guest has in its machines.
//
// As /init it prepares the machine and becomes, or starts, process 1. Its subcommands:
//
//	serve            runs what the test asks for over the second serial port
//	init             is a process 1 that starts serve, and buries orphans
//	watch SECONDS    prints to the console, so often, what processes and memory are doing
//	fill SIZE ...    takes memory, writes it and reads it back, see fill
//	hold SIZE        takes memory, writes it, and reads it back at each SIGUSR1
//	flusher PID...   prints how many threads of processes are IO_FLUSHER
//	pageout PID...   has the kernel swap out the memory of processes
package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func main() {
	args := os.Args[1:]
	if os.Getpid() == 1 && len(args) == 0 {
		args = []string{"boot"}
	}
	if err := run(args); err != nil {
		fmt.Fprintf(os.Stderr, "agent %q: %v\n", args, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("a subcommand is needed")
	}
	switch args[0] {
	case "boot":
		return prepare()
	case "init":
		return initProcess()
	case "serve":
		return serve()
	case "watch":
		return watch(args[1:])
	case "fill":
		return fillCommand(args[1:])
	case "hold":
		return holdCommand(args[1:])
	case "flusher":
		return flusherCommand(args[1:])
	case "pageout":
		return pageOutCommand(args[1:])
	}
	return fmt.Errorf("no subcommand %s", args[0])
}

// stay keeps this process in memory, and alive when memory is short.
func stay() error {
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0); err != nil {
		return err
	}
	return unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
}
