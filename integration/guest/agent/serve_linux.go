// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/integration/guest/boot"
)

// port is the serial port over which the test talks.
const port = "/dev/ttyS1"

// serve runs the test's commands, at the same time, until the port ends.
func serve() error {
	if err := stay(); err != nil {
		return err
	}
	file, err := os.OpenFile(port, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := raw(int(file.Fd())); err != nil {
		return err
	}
	var mu sync.Mutex // guards replies
	replies := json.NewEncoder(file)
	reply := func(r boot.Reply) error {
		mu.Lock()
		defer mu.Unlock()
		return replies.Encode(r)
	}
	if err := reply(boot.Reply{}); err != nil {
		return err
	}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r boot.Request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		go func() {
			if err := reply(shell(r)); err != nil {
				os.Exit(1) // the port is gone
			}
		}()
	}
}

// shell runs one command, as likely to be killed for memory as any other process.
func shell(r boot.Request) boot.Reply {
	cmd := exec.Command("/bin/sh", "-c", "echo 0 >/proc/self/oom_score_adj; "+r.Command)
	out, err := cmd.CombinedOutput()
	reply := boot.Reply{ID: r.ID, Code: cmd.ProcessState.ExitCode(), Output: string(out)}
	if err != nil {
		reply.Error = err.Error()
	}
	return reply
}

// raw makes a terminal pass bytes as they are.
func raw(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
	t.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}
