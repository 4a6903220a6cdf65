// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	// fileTime bounds the reading of a file. A file of a process can wait for a lock of its memory.
	fileTime = 3 * time.Second
	// commandTime bounds a command, which has shorter limits of its own for each device.
	commandTime = 20 * time.Second
	// maxFile bounds the size of a file in the bundle, in bytes.
	maxFile = 4 << 20
)

// A File is a file of the bundle.
type File struct {
	Name  string // relative, with slashes
	About string // what it is, a line of README.txt
	Data  []byte
}

// A Bundle is what was collected. It is immutable.
type Bundle struct {
	Files []File // README.txt first
	// Problems says what is missing and why, a line each; errors.txt has them too.
	Problems []string
}

// A Source is where a bundle is collected from.
type Source struct {
	Machine host.Root
	Program string // path of zramfs, whose commands are run
}

// collector collects a bundle. No two goroutines use it at a time.
type collector struct {
	Source
	ctx      context.Context
	files    []File
	problems []string
}

// Collect reads all files. A file that it cannot read, or not in time, becomes a line of Problems.
// The error is that of ctx, which ends the work.
func Collect(ctx context.Context, from Source) (Bundle, error) {
	c := &collector{Source: from, ctx: ctx}
	c.commands()
	c.machine()
	c.processes()
	if err := ctx.Err(); err != nil {
		return Bundle{}, err
	}
	if len(c.problems) > 0 {
		c.files = append(c.files, File{"errors.txt", "what could not be read, and why", []byte(strings.Join(c.problems, "\n") + "\n")})
	}
	return Bundle{Files: append([]File{readme(c.files)}, c.files...), Problems: c.problems}, nil
}

// take adds the file that read makes within limit, and leaves out an empty file and one that the
// kernel does not have. It abandons a read that hangs.
func (c *collector) take(name, about string, limit time.Duration, read func(context.Context) ([]byte, error)) []byte {
	ctx, stop := context.WithTimeout(c.ctx, limit)
	defer stop()
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1) // room for one, so that a late read does not wait
	go func() {
		data, err := read(ctx)
		done <- result{data, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		r.err = ctx.Err()
	}
	switch {
	case errors.Is(r.err, context.DeadlineExceeded):
		r.err = fmt.Errorf("no answer for %s", term.Time(limit))
	case errors.Is(r.err, fs.ErrNotExist):
		r.err = nil
	}
	if r.err != nil {
		c.problem(name, r.err)
	}
	if len(r.data) > maxFile {
		c.problem(name, fmt.Errorf("the first %s of %s", term.Size(maxFile), term.Size(uint64(len(r.data)))))
		r.data = r.data[:maxFile]
	}
	if len(bytes.TrimSpace(r.data)) > 0 {
		c.files = append(c.files, File{name, about, r.data})
	}
	return r.data
}

func (c *collector) problem(name string, err error) {
	c.problems = append(c.problems, term.OneLine(name+": "+err.Error()))
}

// copyFile adds a file of the machine.
func (c *collector) copyFile(name, about string, from ...string) {
	c.take(name, about, fileTime, func(context.Context) ([]byte, error) { return os.ReadFile(c.Machine.Path(from...)) })
}
