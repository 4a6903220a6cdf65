// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
)

// Text returns the sample, the result of each algorithm and the advice.
func (e *Report) Text() string {
	var out strings.Builder
	out.WriteString(e.Sample.words())
	out.WriteByte('\n')
	out.WriteString(e.table().Render(term.Style{UTF8: term.UTF8(), Width: term.Width()}))
	out.WriteByte('\n')
	out.WriteString(e.Advice.words())
	return out.String()
}

// words describes the sample.
func (s Sample) words() string {
	var out strings.Builder
	what := "of resident anonymous memory of " + s.Source
	switch {
	case s.Processes == 0:
		what = "of " + s.Source
	case s.Processes != 1:
		what = fmt.Sprintf("of resident anonymous memory of %d processes", s.Processes)
	}
	taken := "All " + term.Size(uint64(s.Total)) + " " + what + " was sampled"
	if s.Bytes < s.Total {
		taken = fmt.Sprintf("A sample of %s was taken, evenly, from %s %s", term.Size(uint64(s.Bytes)), term.Size(uint64(s.Total)), what)
	}
	fmt.Fprintf(&out, "%s.\n", taken)
	if s.Swapped > 0 {
		fmt.Fprintf(&out, "%s more of theirs is in swap already and was not sampled.\n", term.Size(uint64(s.Swapped)))
	}
	out.WriteString(leftOutWords(s.LeftOut))
	fmt.Fprintf(&out, "%s of the pages are one repeated word and take no memory but their index entry.\n",
		term.ShareOf(s.SameFilled))
	return out.String()
}

// leftOutWords lists the processes left out of the sample.
func leftOutWords(l sample.LeftOut) string {
	var out strings.Builder
	for _, reason := range []struct {
		n   int
		why string
	}{
		{l.Denied, "may not be read: run as root or with CAP_SYS_PTRACE"},
		{l.Gone, "ended during the sampling"},
		{l.Late, fmt.Sprintf("could not be read in %s", term.Time(sample.TimeLimit))},
	} {
		if reason.n > 0 {
			fmt.Fprintf(&out, "Left out: %s, which %s.\n", term.Plural(reason.n, "process", "processes"), reason.why)
		}
	}
	return out.String()
}

func (e *Report) table() term.Table {
	t := term.Table{Columns: []term.Column{
		{Name: "ALGORITHM"}, {Name: "RATIO", Right: true}, {Name: "95%-INTERVAL", Right: true}, {Name: "TAKES", Right: true},
		{Name: "SAVES", Right: true}, {Name: "INCOMPRESSIBLE", Right: true},
	}}
	for _, r := range e.Algorithms {
		t.Rows = append(t.Rows, []string{
			r.Algorithm, fmt.Sprintf("%.2f", r.Ratio), fmt.Sprintf("%.2f-%.2f", r.Low, r.High),
			term.Size(uint64(r.Takes)), term.Size(uint64(r.Saves)), term.ShareOf(r.Incompressible),
		})
	}
	return t
}

// words returns the advice with its three sizes.
func (a Advice) words() string {
	var out strings.Builder
	if a.Poor {
		out.WriteString("This memory hardly compresses: compressed swap would save little of it.\n")
	}
	what := "A device for all of it"
	if a.Bounded {
		what = "More would not fit into half of RAM. A device for a part of it"
	}
	fmt.Fprintf(&out, "%s, with %s:\n", what, a.Algorithm)
	lines := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(lines, "  virtual size\t%s\twhat free and swapon will show; takes no memory by itself\n", term.Size(a.Size))
	fmt.Fprintf(lines, "  expected RAM\t%s\twhen it is full of such memory\n", term.Size(a.Expected))
	if t := a.Tiers; t.InZswap > 0 {
		rest := ""
		if t.Store > 0 {
			rest = ", the rest in the store in " + term.Size(t.Store)
		}
		fmt.Fprintf(lines, "  with zswap\t%s\tthe same where the kernel has zswap: up to %s in zswap in %s%s\n",
			term.Size(t.Zswap+t.Store), term.Size(t.InZswap), term.Size(t.Zswap), rest)
	}
	fmt.Fprintf(lines, "  worst case\t%s\tits limit, reached when contents compress worse; without a limit %s, when nothing compresses\n",
		term.Size(a.MemLimit), term.Size(a.Unlimited))
	_ = lines.Flush() // a strings.Builder takes everything
	fmt.Fprintf(&out, "\n  %s\n", a.Command)
	if a.Bare.Size > 0 {
		full := ""
		if a.Algorithm == codec.Algorithms()[0] { // else the ratio is of another one
			full = term.Size(a.Bare.Expected) + " when it is full of such memory, "
		}
		fmt.Fprintf(&out, "\nWithout flags, zramfs up makes %s for a %s machine, without a limit: %s%s at worst.\n", term.Size(a.Bare.Size), a.Bare.Class, full, term.Size(a.Bare.Worst))
	}
	return out.String()
}
