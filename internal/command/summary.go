// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/internal/estimate"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// A summary describes the new device of up or mount; its JSON is what --json prints.
type summary struct {
	Dir       string   `json:"dir"`       // its mount point
	Data      string   `json:"data"`      // the path of the data file
	Size      uint64   `json:"size"`      // size of the device
	Class     string   `json:"class"`     // of the machine, small, medium or large, where the size is that of auto; else empty
	Algorithm string   `json:"algorithm"` // its algorithm
	Loops     []string `json:"loops"`     // of swap areas; empty after mount
	Priority  *int     `json:"priority"`  // of the swap areas; null after mount
	Zswap     string   `json:"zswap"`     // its limit and compressor, where --zswap has it in front of the device
	// Memory is null if the serving process was not asked.
	Memory   *memorySummary `json:"memory"`
	Warnings []string       `json:"warnings"` // what is missing, each with its consequence
}

// memorySummary is the memory of a new device, in bytes.
type memorySummary struct {
	Now       uint64 `json:"now"`       // store, processes and slots
	Store     uint64 `json:"store"`     // index and reserve
	Processes uint64 `json:"processes"` // keeper and worker, without the store
	Slots     uint64 `json:"slots"`     // the process that holds ballast; 0 for none
	Worst     uint64 `json:"worst"`     // when the device is full of pages that do not compress, or the limit is reached
	Limit     uint64 `json:"limit"`     // 0 for none
}

// newSummary describes the device that cfg asked for, which d is if it was asked.
func newSummary(cfg zramfsd.Config, report *status.Report, d swapdev.Device, said *swapdev.Narration) summary {
	s := summary{Dir: report.Dir, Data: swapdev.Device{Dir: report.Dir}.Data(), Size: report.Disksize, Algorithm: cfg.Algorithm.String(),
		Loops: []string{}, Warnings: byCure(said.Warnings)}
	if ram, err := host.Local.MemTotal(); err == nil {
		s.Class = classOf(s.Size, ram)
		s.Warnings = append(s.Warnings, sizesBeyond(cfg.Disksize, cfg.MemLimit, ram)...)
	}
	if d.Status == nil {
		return s
	}
	all := d.Memory()
	m := memorySummary{Now: all.Taken, Store: all.Store, Processes: all.Processes, Slots: all.Slots, Limit: cfg.MemLimit}
	m.Worst = uint64(float64(cfg.Disksize/pageSize)*estimate.PageCost(pageSize)) + d.Status.Memory.ReserveBytes
	if m.Limit > 0 {
		m.Worst = min(m.Worst, m.Limit)
	}
	m.Worst += m.Processes + m.Slots
	s.Memory = &m
	return s
}

// classOf returns the class of a machine with ram bytes of memory; empty if the size is not the one
// that follows from it.
func classOf(size, ram uint64) string {
	if class := estimate.ClassOf(ram); class.Size == size {
		return class.Name
	}
	return ""
}

// sizesBeyond warns of a size and a limit that are beyond ram.
func sizesBeyond(size, limit, ram uint64) []string {
	var warnings []string
	if limit > ram {
		warnings = append(warnings, fmt.Sprintf("the memory limit of %s is more than RAM (%s), so it limits nothing: use a lower --mem-limit",
			term.Size(limit), term.Size(ram)))
	}
	if size > ram && (limit == 0 || limit > ram) {
		warnings = append(warnings, fmt.Sprintf("the size of %s is more than RAM (%s): pages that do not compress could fill the memory; "+
			"give --mem-limit, or a smaller --size", term.Size(size), term.Size(ram)))
	}
	if kernel := size / swapMapShare; kernel > ram/100 {
		warnings = append(warnings, fmt.Sprintf("swap of %s costs the kernel %s for its own tables, used or not: use a smaller --size", term.Size(size), term.Size(kernel)))
	}
	return warnings
}

// swapMapShare is the size of swap for each byte of the tables that the kernel makes at swapon: the
// swap map, the groups and the clusters. Linux 6.18 takes 840 MiB for 1 TiB, used or not.
const swapMapShare = 1250

// byCure joins warnings with the same cure, the text after the last colon.
func byCure(warnings []string) []string {
	joined := []string{} // not nil: it is printed as a JSON array
	cures := map[string]int{}
	for _, w := range warnings {
		at := strings.LastIndex(w, ": ")
		if at < 0 {
			joined = append(joined, w)
			continue
		}
		cure := w[at:]
		if i, ok := cures[cure]; ok {
			joined[i] = strings.TrimSuffix(joined[i], cure) + "; " + w
			continue
		}
		cures[cure] = len(joined)
		joined = append(joined, w)
	}
	return joined
}

// swapText is the first line of up.
func (s summary) swapText() string {
	auto := ""
	if s.Class != "" {
		auto = ", size auto for a " + s.Class + " machine"
	}
	return fmt.Sprintf("%s of compressed swap is on: %s, priority %d, algorithm %s%s\n",
		term.Size(s.Size), swapdev.AreaNames(s.Loops), *s.Priority, s.Algorithm, auto)
}

// zswapText is the line of up about zswap.
func (s summary) zswapText() string {
	if s.Zswap == "" {
		return ""
	}
	return "  zswap    keeps hot pages, " + s.Zswap + "; so it does for other swap devices\n"
}

func (s summary) memoryText() string {
	if s.Memory == nil {
		return ""
	}
	m := *s.Memory
	now := swapdev.Memory{Taken: m.Now, Store: m.Store, Processes: m.Processes, Slots: m.Slots}.Words()
	bound := fmt.Sprintf("at worst %s when full: no --mem-limit", term.Size(m.Worst))
	if m.Limit > 0 {
		bound = fmt.Sprintf("at most %s when full: --mem-limit %s", term.Size(m.Worst), term.Size(m.Limit))
	}
	return "  memory   " + now + "; " + bound + "\n"
}

func (s summary) warningText() string {
	var out strings.Builder
	for _, w := range s.Warnings {
		out.WriteString("  warning  " + term.Printable(w) + "\n")
	}
	return out.String()
}

// nextText names the commands that watch the device and end it.
func (s summary) nextText(end string) string {
	dir := " " + term.ShellWord(s.Dir)
	if s.Dir == defaultDir && end == "down" {
		dir = ""
	}
	return fmt.Sprintf("watch: zramfs top%s      end: zramfs %s%[1]s\n", dir, end)
}
