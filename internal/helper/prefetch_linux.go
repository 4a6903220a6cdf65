// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/prefetch"
	"github.com/zramfs/zramfs/internal/term"
)

// progressFile is the number of the open file to which a prefetch writes its progress.
const progressFile = 3

// Prefetch is prefetch.Run in another process, which may wait for a device that does not answer.
// When ctx ends, that process has the time ending to report what it has done; after that Prefetch
// kills it, and the error is ErrNoAnswer.
func Prefetch(ctx context.Context, ending time.Duration, o prefetch.Options) (r prefetch.Report, err error) {
	theirs, options, err := os.Pipe() // its end tells the process to end
	if err != nil {
		return r, err
	}
	defer func() { _ = options.Close() }() // it may be closed
	progress, theirProgress, err := os.Pipe()
	if err != nil {
		return r, errors.Join(err, theirs.Close())
	}
	defer func() { _ = progress.Close() }() // read only
	patient, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-time.After(ending):
			kill()
		case <-patient.Done():
		}
	})()
	go func() {
		_ = json.NewEncoder(options).Encode(o) // the process may have ended
		select {
		case <-ctx.Done():
		case <-patient.Done():
		}
		_ = options.Close() // it may be closed
	}()
	shown := make(chan error, 1)
	go func() { shown <- show(progress, o.Progress) }()
	text, err := call(patient, files{theirs, theirProgress}, Prefetching, strconv.Itoa(progressFile))
	_ = progress.SetReadDeadline(time.Now().Add(endTime)) // the process may not end
	showErr := <-shown
	if err != nil {
		return r, err
	}
	return r, errors.Join(json.Unmarshal(text, &r), showErr)
}

// show shows what a prefetch writes: how many pages there are, and then numbers that it has asked
// for. The reader's end or deadline ends it.
func show(r io.Reader, progress func(pages int64) term.Steps) error {
	numbers := json.NewDecoder(r)
	var total int64
	if err := numbers.Decode(&total); err != nil || progress == nil {
		return nil // the process has ended without any
	}
	steps := progress(total)
	for {
		var n uint64
		if err := numbers.Decode(&n); err != nil { // no more
			return steps.End()
		}
		if err := steps.Add(n); err != nil {
			return errors.Join(err, steps.End())
		}
	}
}

// relay is the progress of a prefetch in its own process.
type relay struct{ out *json.Encoder }

func (r relay) Add(n uint64) error { return r.out.Encode(n) }
func (r relay) End() error         { return nil }

// prefetchHere makes the prefetch of the options in standard input, until that ends.
func prefetchHere(args []string) ([]byte, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // a terminal's Ctrl-C is for both processes
	defer stop()
	ctx, end := context.WithCancel(ctx)
	defer end()
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, fmt.Errorf("%q is not the number of a file: %w", args[0], err)
	}
	var o prefetch.Options
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return nil, fmt.Errorf("read what to prefetch: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end alone counts
		end()
	}()
	out := json.NewEncoder(os.NewFile(uintptr(number), "progress"))
	o.Progress = func(pages int64) term.Steps {
		_ = out.Encode(pages) // the first step reports a broken pipe
		return relay{out}
	}
	r, err := prefetch.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}
