// SPDX-License-Identifier: Apache-2.0

package web

import (
	_ "embed"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/chronicle"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/term"
)

// reportStyle is the style sheet of a report.
//
//go:embed report.css
var reportStyle string

// Report writes one HTML file without scripts or other files: what devices do now, and the history
// that serve has kept. It goes to standard output, or to o.Output, which appears once it is
// complete.
func Report(o Config, stdout io.Writer) error {
	path, named, err := historyPath(o)
	if err != nil {
		return err
	}
	c, err := chronicle.Read(path)
	if err != nil && named {
		return err
	}
	unread := ""
	if err != nil {
		c = chronicle.New()
		if !errors.Is(err, fs.ErrNotExist) { // as for users other than root
			unread = err.Error()
		}
	}
	samples, err := monitor.Take()
	if err != nil {
		return err
	}
	j, err := loadEvents(eventsPath(path))
	if err != nil && unread == "" {
		unread = err.Error()
	}
	j.take(samples, readEvents)
	text := reportText(samples, c, o, time.Now(), unread, j.newest())
	if o.Output == "" {
		if _, err := io.WriteString(stdout, text); err != nil {
			return fmt.Errorf("write standard output: %w", err)
		}
		return nil
	}
	return writeFile(o.Output, text)
}

// writeFile puts a file, readable by its owner only, in the place of another regular one.
func writeFile(path, text string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return writeOther(path, text)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".zramfs-report-")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what it has is incomplete
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeOther writes to a pipe or a terminal, which stays, as does anything else: a renamed file
// would take the place of /dev/stdout for all programs.
func writeOther(path, text string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
		err = errors.New("it is no regular file: name another, or leave -o out for standard output")
	}
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// reportText is the page; unread says why the history could not be read, if so.
func reportText(samples []monitor.Sample, c *chronicle.Chronicle, o Config, now time.Time, unread string, events []event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"+
		"<title>zramfs report</title><style>%s</style></head><body>\n<h1>zramfs report</h1>\n", reportStyle)
	fmt.Fprintf(&b, "<p>%s, zramfs %s, Linux %s</p>\n", now.Format(time.RFC1123Z), html.EscapeString(o.Build.Version), html.EscapeString(kernel()))
	if unread != "" {
		fmt.Fprintf(&b, "<p class=\"bad\">%s</p>\n", html.EscapeString(unread))
	}
	points, names := monitor.NewHistory(2).Add(samples), namesOf(samples)
	seen := map[string]bool{}
	for i, s := range samples {
		v := newView(names[i], s, points[i])
		seen[v.Name] = true
		fmt.Fprintf(&b, "<section><h2>%s</h2>\n", html.EscapeString(v.Name))
		writeNow(&b, v)
		writeCharts(&b, c, v.Name, now)
		b.WriteString("</section>\n")
	}
	if len(samples) == 0 {
		b.WriteString("<p>No zramfs device is up.</p>\n")
	}
	for _, name := range c.Devices() {
		if rows, _ := c.Rows(name, now, 24*time.Hour); !seen[name] && len(rows) > 0 {
			fmt.Fprintf(&b, "<section><h2>%s</h2><p>It is no longer up.</p>\n", html.EscapeString(name))
			writeCharts(&b, c, name, now)
			b.WriteString("</section>\n")
		}
	}
	b.WriteString(eventsTable(events) + "</body></html>\n")
	return b.String()
}

// eventsTable has what happened, the newest first; nothing where nothing is known.
func eventsTable(all []event) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<section><h2>Events</h2><table>\n<tr><th scope=\"col\">time</th><th scope=\"col\">device</th><th scope=\"col\">event</th></tr>\n")
	for _, e := range all {
		fmt.Fprintf(&b, "<tr><td>%s</td><td>%s</td><td class=\"%s\">%s</td></tr>\n", time.UnixMilli(e.Time).Format("2006-01-02 15:04:05"),
			html.EscapeString(e.Device), html.EscapeString(e.Level), html.EscapeString(e.Text))
	}
	b.WriteString("</table></section>\n")
	return b.String()
}

// kernel is the kernel's release.
func kernel() string {
	text, err := host.Local.Read("proc/sys/kernel/osrelease")
	if err != nil {
		return "of unknown version"
	}
	return text
}

// writeNow writes the present figures of a device.
func writeNow(b *strings.Builder, v view) {
	if len(v.Problems) == 0 {
		b.WriteString("<p class=\"good\">healthy</p>\n")
	}
	for _, p := range v.Problems {
		fmt.Fprintf(b, "<p class=\"bad\">%s</p>\n", html.EscapeString(p.String()))
	}
	b.WriteString("<table>\n")
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", html.EscapeString(name), html.EscapeString(value))
		}
	}
	if v.Swap != nil {
		row("swap", fmt.Sprintf("%s of %s used (%s), priority %d", term.Size(v.Swap.Used), term.Size(v.Swap.Size), term.Share(v.Swap.Used, v.Swap.Size), v.Swap.Priority))
	}
	if v.Answered {
		row("device", fmt.Sprintf("%s, %s, %s, version %s, up %s", v.Loop, term.Size(v.Disksize), v.Algorithm, v.Version, term.Time(time.Duration(v.Uptime)*time.Second)))
		row("saved", fmt.Sprintf("%.1f MiB", float64(v.Saved)/(1<<20)))
		row("stored", fmt.Sprintf("%s, as objects %s", term.Size(v.Stored), term.Size(v.Compressed)))
		row("zswap", v.Zswap)
		row("memory", fmt.Sprintf("%s, store at most %s so far, limit %s", v.Taken.Words(), term.Size(v.Peak), limitWords(v.Limit)))
		row("pages", codecShares(v))
		row("errors", fmt.Sprintf("%d reads, %d writes, %d damaged pages", v.Errors.FailedReads, v.Errors.FailedWrites, v.Errors.ChecksumErrors))
		row("restarts", fmt.Sprint(v.Restarts))
		row("missing protections", strings.Join(v.Missing, ", "))
	}
	for _, o := range v.Operations {
		row(o.Op, fmt.Sprintf("%d requests, %d pages, p50 %s, p99 %s, at most %s", o.Requests, o.Pages, time.Duration(o.P50), time.Duration(o.P99), time.Duration(o.Max)))
	}
	b.WriteString("</table>\n")
}

func limitWords(limit uint64) string {
	if limit == 0 {
		return "none"
	}
	return term.Size(limit)
}

// codecShares is the mix of formats.
func codecShares(v view) string {
	var total uint64
	for _, c := range v.Codecs {
		total += c.Pages
	}
	var words []string
	for _, c := range v.Codecs {
		if c.Pages > 0 {
			words = append(words, term.Share(c.Pages, total)+" "+c.Name)
		}
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(words, ", "))
}
