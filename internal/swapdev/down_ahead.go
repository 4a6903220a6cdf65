// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/prefetch"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// aheadLeast is the least use of swap, in bytes, for which reading ahead is worth a process.
const aheadLeast = 16 << 20

// aheadEnd bounds the wait for the reading after swapoff, when nothing is left to read.
const aheadEnd = 200 * time.Millisecond

// startAhead has the kernel read the pages in these areas ahead of swapoff, which waits for one
// cluster after the other. It does nothing if other areas are in use: the pages there are to stay.
// The function that it returns ends the reading and prints a step; a failure costs time alone.
func startAhead(ctx context.Context, out io.Writer, areas []loopsetup.Swap) (end func() error) {
	all, err := loopsetup.Swaps()
	if hidden, _ := loopsetup.Hidden(all); err != nil || hidden > 0 || !worthAhead(all, areas) {
		return func() error { return nil }
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan string, 1)
	go func() { done <- ahead(ctx) }()
	return func() error {
		end := time.AfterFunc(aheadEnd, stop)
		defer end.Stop()
		defer stop()
		if detail := <-done; detail != "" {
			return printStep(out, "ahead", "ok", detail)
		}
		return nil
	}
}

// worthAhead reports whether reading ahead is worth it and would leave areas other than these
// alone.
func worthAhead(all, areas []loopsetup.Swap) bool {
	for _, s := range all {
		ours := slices.ContainsFunc(areas, func(a loopsetup.Swap) bool { return a.Path == s.Path })
		if !ours && s.Used > 0 {
			return false
		}
	}
	return UsedIn(areas) >= aheadLeast
}

// ahead reads ahead and returns what the step says; nothing if swapoff was faster.
func ahead(ctx context.Context) string {
	text, err := helper.Call(ctx, helper.ReadAhead, status.ServerName, ballast.ProcessName)
	var r prefetch.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return ""
	case err != nil:
		return fmt.Sprintf("nothing read ahead of swapoff: %v", err)
	}
	return fmt.Sprintf("%s of %s read ahead of swapoff in %.1fs", term.Size(r.Asked*pageSize), term.Plural(r.Processes, "process", "processes"), r.Seconds)
}
