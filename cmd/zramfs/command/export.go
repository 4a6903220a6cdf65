// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/store/view"
)

const flagRange = "range"

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write what a device holds to a file",
		ArgsUsage: "DIR FILE",
		Description: "Writes everything that the device at DIR stores to FILE, while it is in use, decompressing on all processors. It reads the " +
			"memory of the device itself, not the device. FILE is as large as the device, or the range, with holes where the device holds " +
			"nothing or zeros. It appears once it is complete, readable by its owner only; after an error or an interruption there is " +
			"none.\n\n" +
			"A page that is written while export runs is exported as it was or as it is, and two pages may be from different moments: for " +
			"a consistent copy, nothing may write to the device. A damaged page is an error; zramfs verify lists those.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: flagRange, Usage: "export `FIRST:COUNT` only, a page's number and how many, of 4096 bytes each"},
			&cli.BoolFlag{Name: flagForce, Usage: "replace FILE where there is one"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		}, engineFlags()...),
		Action: exportAction,
	}
}

// An exportReport says what was exported; its JSON is what export --json prints.
type exportReport struct {
	Dir   string `json:"dir"`
	File  string `json:"file"`
	First uint64 `json:"first_page"`
	// Pages is how many the file has, Data how many of them are no holes.
	Pages       uint64  `json:"pages"`
	Data        uint64  `json:"data_pages"`
	Seconds     float64 `json:"seconds"`
	GBPerSecond float64 `json:"gb_per_second"` // of data
	workReport
}

func exportAction(c *cli.Context) error {
	if c.NArg() != 2 || c.Args().Get(0) == "" || c.Args().Get(1) == "" {
		return usageError("export: name a DIR and a FILE, as zramfs export %s pages.img", defaultDir)
	}
	e := exporter{force: c.Bool(flagForce), report: exportReport{File: c.Args().Get(1)}}
	var err error
	if e.engines, err = engineOptionsOf(c, unpacking); err != nil {
		return err
	}
	if e.report.First, e.report.Pages, err = parseRange(c.String(flagRange)); err != nil {
		return err
	}
	d, err := findHere(c.Args().First())
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	e.report.Dir, e.progress = d.Dir, term.NewSteps(c.App.ErrWriter, "exporting", stored(d))
	if err := obey(ctx, func() error { return e.export(ctx, d) }); err != nil {
		return fmt.Errorf("export %s: %w", d.Dir, explainKeeper(err))
	}
	return e.report.print(c.App.Writer, c.Bool(flagJSON))
}

// parseRange reads FIRST:COUNT; nothing is the whole device, of which the count is 0.
func parseRange(text string) (first, count uint64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	from, n, ok := strings.Cut(text, ":")
	if ok {
		first, err = strconv.ParseUint(from, 10, 64)
	}
	if ok && err == nil {
		count, err = strconv.ParseUint(n, 10, 64)
	}
	if !ok || err != nil || count == 0 {
		return 0, 0, usageError("range %q: want FIRST:COUNT, the number of a page and how many", text)
	}
	return first, count, nil
}

// An exporter writes pages to a file.
type exporter struct {
	force    bool
	engines  engineOptions
	progress term.Steps
	report   exportReport

	// The window that was written last is shown as done once it is on the disk, which takes longer
	// than to write it.
	pending       uint64 // its pages
	begin, length int64  // where it lies in the file
}

// An exportFile is what pages are exported to.
type exportFile interface {
	io.WriterAt
	// startSync has the disk begin to write a part of the file, and sync waits until it is there.
	startSync(begin, length int64) error
	sync(begin, length int64) error
}

// export makes the file.
func (e *exporter) export(ctx context.Context, d device) (err error) {
	most := e.report.Pages
	if most == 0 {
		most = math.MaxUint64 // all of it
	}
	e.engines.pages = min(most, uint64(stored(d)))
	l, err := openImage(d, e.engines, most)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, l.close())
		e.report.workReport = l.shop.report()
	}()
	if e.report.Pages == 0 {
		e.report.Pages = l.view.Pages()
	}
	if r := &e.report; r.First >= l.view.Pages() || r.Pages > l.view.Pages()-r.First {
		return usageError("range %d:%d: the device has %d pages", r.First, r.Pages, l.view.Pages())
	}
	f, err := newWholeFile(e.report.File, e.force)
	if err != nil {
		return err
	}
	began := time.Now()
	err = e.copy(ctx, l, f)
	if err == nil {
		err = f.finish(int64(e.report.Pages) * pageSize)
	}
	err = errors.Join(err, e.progress.Add(e.pending), e.progress.End())
	took := time.Since(began)
	e.report.Seconds = took.Seconds()
	e.report.GBPerSecond = float64(e.report.Data) * pageSize / 1e9 / took.Seconds()
	return errors.Join(err, f.close())
}

// exportWindows is how many windows there are: one is written to the file while another is filled.
const exportWindows = 2

// copy writes all pages that are not zeros.
func (e *exporter) copy(ctx context.Context, l *liveImage, f exportFile) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	empty, full := make(chan *imageWindow, exportWindows), make(chan *imageWindow, exportWindows)
	for range exportWindows {
		empty <- l.newWindow(bulk.Decompress)
	}
	written := make(chan error, 1)
	go func() {
		var first error
		for w := range full {
			if first == nil {
				if first = e.write(w, f); first != nil {
					stop(first) // the rest is for nothing
				}
			}
			empty <- w
		}
		written <- first
	}()
	err := l.walk(ctx, e.report.First, e.report.First+e.report.Pages, func() *imageWindow { return <-empty },
		func(w *imageWindow) error { full <- w; return nil })
	close(full)
	if werr := <-written; werr != nil {
		return werr // what it has stopped is no news
	}
	return err
}

// write writes a window, neighbouring pages at once.
func (e *exporter) write(w *imageWindow, f exportFile) error {
	begin := 0 // of a run of pages that are no holes
	flush := func(end int) error {
		if begin == end {
			return nil
		}
		_, err := f.WriteAt(w.batch.Pages[begin*pageSize:end*pageSize], int64(w.First-e.report.First+uint64(begin))*pageSize)
		return err
	}
	there := uint64(0)
	for i, kind := range w.Kind {
		if kind == view.PageCorrupt {
			return fmt.Errorf("page %d is damaged; zramfs verify lists all such pages", w.First+uint64(i))
		}
		if kind != view.PageEmpty {
			there++
		}
		if kind == view.PageSame {
			fillPage(w.batch.Pages[i*pageSize:(i+1)*pageSize], w.Word[i])
		}
		if kind == view.PageEmpty || kind == view.PageSame && w.Word[i] == 0 {
			if err := flush(i); err != nil {
				return err
			}
			begin = i + 1
			continue
		}
		e.report.Data++
	}
	if err := flush(w.Pages); err != nil {
		return err
	}
	return e.settle(f, int64(w.First-e.report.First)*pageSize, int64(w.Pages)*pageSize, there)
}

// settle has the disk begin with what was just written, so many pages, and waits for what was
// written before.
func (e *exporter) settle(f exportFile, begin, length int64, pages uint64) error {
	if err := errors.Join(f.startSync(begin, length), f.sync(e.begin, e.length)); err != nil {
		return err
	}
	done := e.pending
	e.pending, e.begin, e.length = pages, begin, length
	return e.progress.Add(done)
}

// fillPage fills a page with a word, as the processor has it in memory: both that we build for are
// little-endian.
func fillPage(page []byte, word uint64) {
	for i := range 8 {
		page[i] = byte(word >> (8 * i))
	}
	for n := 8; n < len(page); {
		n += copy(page[n:], page[:n])
	}
}

func (r exportReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, map[string]exportReport{"export": r})
	}
	_, err := fmt.Fprintf(w, "%s written: %s of data in a %s sparse file, in %.1f s, %.2f GB/s\n%s",
		r.File, term.Size(r.Data*pageSize), term.Size(r.Pages*pageSize), r.Seconds, r.GBPerSecond, r.workReport.text())
	return err
}
