// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

// signed writes a number of bytes that may be negative.
func signed(n int64) string {
	if n < 0 {
		return "-" + term.Size(uint64(-n))
	}
	return term.Size(uint64(n))
}

// duration writes the time of a request: 41 us, 1.2 ms, 3.4 s.
func duration(ns int64) string {
	us := float64(ns) / 1000
	switch {
	case us < 9.95:
		return fmt.Sprintf("%.1f us", us)
	case us < 999.5:
		return fmt.Sprintf("%.0f us", us)
	case us < 999_950:
		return fmt.Sprintf("%.1f ms", us/1000)
	}
	return fmt.Sprintf("%.1f s", us/1_000_000)
}

// forecast writes the time that is left: 40 s, 29 min, 5 h.
func forecast(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.0f h", seconds/3600)
}

// flowWords is a flow: pages a second, times of requests in the device, and the mean time at the
// loop device with the device's part of it.
func flowWords(f status.Flow, s swapdev.Split) []string {
	words := []string{fmt.Sprintf("%7s pages/s", term.Grouped(uint64(f.Pages+0.5)))}
	if f.P99 > 0 {
		words = append(words, "p50 "+duration(f.P50), "p99 "+duration(f.P99))
	}
	if share, known := s.Share(); known {
		words = append(words, fmt.Sprintf("mean at the loop device %s, %.0f%% of it here", duration(s.Loop), 100*share))
	}
	return words
}

// swapWords is the fill of the swap areas, most important first.
func swapWords(p monitor.Point) []string {
	if p.SwapSize == 0 {
		return []string{"no swap area seen"}
	}
	words := []string{fmt.Sprintf("%s of %s", term.Size(p.SwapUsed), term.Size(p.SwapSize)), term.Share(p.SwapUsed, p.SwapSize)}
	if p.FullIn != nil {
		words = append(words, "full in "+forecast(*p.FullIn))
	}
	if perMinute := int64(p.Growth * time.Minute.Seconds()); perMinute >= 1<<16 || perMinute <= -1<<16 {
		sign := ""
		if perMinute > 0 {
			sign = "+"
		}
		words = append(words, sign+signed(perMinute)+"/min")
	}
	return words
}

// memoryWords is what the device takes.
func memoryWords(p monitor.Point) []string {
	words := []string{term.Size(p.Memory) + " for " + term.Size(p.Stored)}
	if p.MemoryLimit > 0 {
		words = append(words, "limit "+term.Size(p.MemoryLimit))
	}
	words = append(words, term.Size(p.Processes)+" processes")
	if p.Slots > 0 {
		words = append(words, term.Size(p.Slots)+" slots")
	}
	return words
}

// zswapWords is what zswap holds of the device, and does for the machine.
func zswapWords(p monitor.Point) []string {
	return []string{term.Size(p.Zswap) + " for " + term.Size(p.InZswap), term.Grouped(uint64(p.ZswapIn+0.5)) + " in/s",
		term.Grouped(uint64(p.ZswapBack+0.5)) + " back/s"}
}

// savedWords is what the device saves, its own processes counted.
func savedWords(p monitor.Point) []string {
	if p.Saved < 0 {
		return []string{"nothing yet: it takes " + signed(-p.Saved) + " more than it holds"}
	}
	return []string{signed(p.Saved), "less memory in use, all that is taken for it counted"}
}

// codecWords is the mix of formats.
func codecWords(p monitor.Point) []string {
	var total uint64
	for _, c := range p.Codecs {
		total += c.Pages
	}
	var words []string
	for _, c := range p.Codecs {
		if c.Pages > 0 {
			words = append(words, c.Name+" "+term.Share(c.Pages, total))
		}
	}
	if words == nil {
		return []string{"nothing stored"}
	}
	return words
}

// troubleWords counts what has happened since the device was made.
func troubleWords(p monitor.Point) string {
	return fmt.Sprintf("restarts %d  errors %d", p.Restarts, p.Errors())
}

// cpuWords is the processor time of keeper and worker.
func cpuWords(p monitor.Point) []string {
	if p.CPU == nil {
		return []string{"not known"}
	}
	return []string{fmt.Sprintf("%5.1f%% of a processor", 100**p.CPU)}
}

func pressureWords(p monitor.Point) []string {
	if p.PressureSome == nil || p.PressureFull == nil {
		return []string{"the kernel does not tell"}
	}
	return []string{fmt.Sprintf("some %.1f%%", *p.PressureSome), fmt.Sprintf("full %.1f%%", *p.PressureFull)}
}

// uptime writes the time since the device became ready.
func uptime(p monitor.Point) string {
	return "up " + term.Time(time.Duration(p.Uptime*float64(time.Second)))
}

// ending shortens text to the last columns of it.
func ending(text string, width int) string {
	if term.DisplayWidth(text) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && term.DisplayWidth(string(runes)) > width-2 {
		runes = runes[1:]
	}
	return strings.Repeat(".", min(2, max(width, 0))) + string(runes)
}
