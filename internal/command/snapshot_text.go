// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/term"
)

func printSave(w io.Writer, asJSON bool, r imageio.SaveReport) error {
	if asJSON {
		return printJSON(w, map[string]imageio.SaveReport{snapshotSave: r})
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s written: %s of data in %s, %s, in %.1f s, %.2f GB/s\n",
		term.ShellWord(r.File), term.Size(r.Pages*pageSize), term.Size(uint64(r.FileBytes)), momentWords(r.OneMoment), r.Seconds, r.GBPerSecond)
	if r.KeptBytes > 0 {
		fmt.Fprintf(&out, "%s of them were there already\n", term.Size(uint64(r.KeptBytes)))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// momentWords says how consistent a snapshot is.
func momentWords(one bool) string {
	if one {
		return "all of one moment"
	}
	return "pages of different moments"
}

func printRestore(w io.Writer, asJSON bool, r imageio.RestoreReport) error {
	if asJSON {
		return printJSON(w, map[string]imageio.RestoreReport{snapshotRestore: r})
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s restored to %s: %s with data in %.1f s, %.2f GB/s\n", term.ShellWord(r.File), term.ShellWord(r.Dir), term.Pages(r.Pages), r.Seconds, r.GBPerSecond)
	if r.Kept > 0 {
		fmt.Fprintf(&out, "%s of them were there already\n", term.Grouped(r.Kept))
	}
	if r.Recoded > 0 {
		fmt.Fprintf(&out, "%s of them compressed again, since the device has no such dictionary\n", term.Grouped(r.Recoded))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func printInspect(w io.Writer, asJSON bool, r imageio.InspectReport) error {
	if asJSON {
		return printJSON(w, map[string]imageio.InspectReport{snapshotInspect: r})
	}
	var out strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&out, "%-10s %s\n", name, term.Printable(fmt.Sprintf(format, args...)))
	}
	line("snapshot", "%s, version %d, %s", r.File, r.Version, term.Size(uint64(r.FileBytes)))
	dictionary := ""
	if r.DictionaryBytes > 0 {
		dictionary = ", its dictionary of " + term.Size(uint64(r.DictionaryBytes)) + " included"
	}
	line("device", "%s, %s%s", term.Size(r.Disksize), r.Algorithm, dictionary)
	formats := []string{term.Grouped(r.Same) + " same-filled"}
	for _, c := range r.Codecs {
		formats = append(formats, fmt.Sprintf("%s %s (%s)", term.Grouped(c.Pages), c.Name, term.Size(c.Bytes)))
	}
	line("pages", "%s with data: %s", term.Grouped(r.Pages), strings.Join(formats, ", "))
	if r.Ratio > 0 {
		line("ratio", "%.2f", r.Ratio)
	}
	if r.Damage == nil {
		line("moment", "%s", momentWords(r.OneMoment))
		line("sha256", "%s", r.SHA256)
		line("checksums", "all hold, and every object can be read")
	} else {
		line("checksums", "%s", r.Damage)
	}
	_, err := io.WriteString(w, out.String())
	return err
}
