// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/store/view"
)

// maxListed is how many wrong pages are listed by number.
const maxListed = 64

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check everything that a device stores",
		ArgsUsage: "[DIR]",
		Description: "Reads everything that the device at DIR (default " + defaultDir + ") stores, while it is in use, and checks each page by " +
			"its checksum and by decompressing it, on all processors. It reads the memory of the device itself, not the device. It changes " +
			"nothing.\n\n" +
			"The exit code is 0 without errors, and 1 where a page is damaged: reading that page from the device is an I/O error until it " +
			"is written again or discarded. A page begins in the data file at its number times 4096. The speed counts pages that have " +
			"to be decompressed.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON"},
		}, engineFlags()...),
		Action: verifyAction,
	}
}

// A verifyReport is what verify found; its JSON is what verify --json prints.
type verifyReport struct {
	Dir string `json:"dir"`
	// Pages is how many are stored: same-filled ones and objects, right or wrong.
	Pages   uint64 `json:"pages"`
	Same    uint64 `json:"same_pages"`
	Objects uint64 `json:"objects"`
	// ObjectBytes is the size of the right ones among them.
	ObjectBytes uint64 `json:"object_bytes"`
	// Wrong counts pages that are not what was written; WrongPages are the numbers of the first of
	// them.
	Wrong      uint64   `json:"wrong"`
	WrongPages []uint64 `json:"wrong_pages"`
	Seconds    float64  `json:"seconds"`
	// The speeds are those of objects.
	PagesPerSecond float64 `json:"pages_per_second"`
	GBPerSecond    float64 `json:"gb_per_second"`
	workReport
}

func verifyAction(c *cli.Context) error {
	o, err := engineOptionsOf(c, unpacking)
	if err != nil {
		return err
	}
	d, err := imageDevice(c, "verify")
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	o.pages = uint64(stored(d))
	var r verifyReport
	err = obey(ctx, func() (err error) {
		r, err = verify(ctx, d, o, term.NewSteps(c.App.ErrWriter, "verifying", stored(d)))
		return err
	})
	if err != nil {
		return fmt.Errorf("verify %s: %w", d.Dir, explainKeeper(err))
	}
	if err := r.print(c.App.Writer, c.Bool(flagJSON)); err != nil {
		return err
	}
	if r.Wrong > 0 {
		return exitWith(exitFailure)
	}
	return nil
}

// imageDevice is the device that is named, or the one at the default place.
func imageDevice(c *cli.Context, name string) (device, error) {
	dir, err := oneDir(c, name)
	if err != nil {
		return device{}, err
	}
	return findHere(dir)
}

// stored is how many pages a device says that it stores; 0 where it says nothing.
func stored(d device) int64 {
	if d.Status == nil {
		return 0
	}
	return int64(d.Status.Memory.PagesStored)
}

func verify(ctx context.Context, d device, o engineOptions, p term.Steps) (r verifyReport, err error) {
	l, err := openImage(d, o, math.MaxUint64)
	if err != nil {
		return r, err
	}
	defer func() {
		if cerr := l.close(); err == nil {
			err = cerr
		}
		r.workReport = l.shop.report()
	}()
	r = verifyReport{Dir: d.Dir, WrongPages: []uint64{}} // not nil: it is printed as a JSON array
	w := l.newWindow(bulk.Verify)
	began := time.Now()
	err = l.scrub(ctx, w, func(w *imageWindow) error { return p.Add(r.add(w)) })
	r.rate(time.Since(began))
	if eerr := p.End(); err == nil {
		err = eerr
	}
	return r, err
}

// add counts what was found in a window and returns how many pages are stored there.
func (r *verifyReport) add(w *imageWindow) uint64 {
	before := r.Pages
	r.ObjectBytes += uint64(w.objects)
	for i, kind := range w.Kind {
		switch kind {
		case view.PageEmpty:
			continue
		case view.PageSame:
			r.Same++
		case view.PageObject:
			r.Objects++
		case view.PageCorrupt:
			r.Wrong++
			r.list(w.Number(i))
		}
		r.Pages++
	}
	return r.Pages - before
}

// list lists a wrong page, unless there are enough before it.
func (r *verifyReport) list(page uint64) {
	at, _ := slices.BinarySearch(r.WrongPages, page)
	if at < maxListed {
		r.WrongPages = slices.Insert(r.WrongPages, at, page)[:min(len(r.WrongPages)+1, maxListed)]
	}
}

// rate computes the speeds.
func (r *verifyReport) rate(took time.Duration) {
	r.Seconds = took.Seconds()
	if r.Seconds > 0 {
		r.PagesPerSecond = float64(r.Objects) / r.Seconds
		r.GBPerSecond = r.PagesPerSecond * pageSize / 1e9
	}
}

func (r verifyReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, map[string]verifyReport{"verify": r})
	}
	var out strings.Builder
	found := "no errors"
	if r.Wrong > 0 {
		found = fmt.Sprintf("%s damaged: %s", term.Grouped(r.Wrong), listNumbers(r.WrongPages, r.Wrong))
	}
	fmt.Fprintf(&out, "%s: %s checked (%s compressed, %s same-filled) in %.1f s, %.2f GB/s: %s\n",
		r.Dir, term.Pages(r.Pages), term.Size(r.ObjectBytes), term.Grouped(r.Same), r.Seconds, r.GBPerSecond, found)
	out.WriteString(r.workReport.text())
	_, err := io.WriteString(w, out.String())
	return err
}

// listNumbers lists some numbers of so many.
func listNumbers(numbers []uint64, of uint64) string {
	list := strings.Trim(fmt.Sprint(numbers), "[]")
	if more := of - uint64(len(numbers)); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
