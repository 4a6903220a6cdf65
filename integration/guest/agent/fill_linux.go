// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const pageSize = 4096

// fillCommand is "fill MIB": it takes that much memory, writes pages whose share of random words is
// -share, which is about what codecs leave of them, and reads pages back in a random order for
// -seconds. It prints a line each second or after each page that took longer, and fails for a page
// that is not as it was written. With -nice it leaves processor time to others.
func fillCommand(args []string) error {
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	share := flags.Float64("share", 0.3, "random words in each page, from 0 to 1")
	seconds := flags.Float64("seconds", 1, "how long pages are read")
	nice := flags.Int("nice", 0, "the process's niceness")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.LockOSThread() // the call is for a thread
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, *nice); err != nil {
		return err
	}
	var mib int
	if _, err := fmt.Sscan(flags.Arg(0), &mib); err != nil {
		return fmt.Errorf("size %q: %w", flags.Arg(0), err)
	}
	memory, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	w := work{memory: memory, seed: uint64(os.Getpid()), share: *share}
	begin := time.Now()
	for i := range w.pages() {
		w.write(i)
	}
	fmt.Printf("%d MiB are written after %.2f s\n", mib, time.Since(begin).Seconds())
	return w.read(time.Duration(*seconds * float64(time.Second)))
}

// A work is memory whose pages can be told from each other.
type work struct {
	memory []byte
	seed   uint64
	share  float64 // of random words
}

func (w *work) pages() int { return len(w.memory) / pageSize }

// read reads random pages for so long.
func (w *work) read(during time.Duration) error {
	rng := rand.New(rand.NewPCG(w.seed, 0))
	begin, report := time.Now(), time.Now()
	count, worst := 0, time.Duration(0)
	for now := begin; now.Sub(begin) < during; {
		i := rng.IntN(w.pages())
		if !w.same(i) {
			return fmt.Errorf("page %d is not as it was written", i)
		}
		after := time.Now()
		count, worst, now = count+1, max(worst, after.Sub(now)), after
		if now.Sub(report) >= time.Second {
			fmt.Printf("%.1f s: read %d pages, the slowest in %.3f s\n", now.Sub(begin).Seconds(), count, worst.Seconds())
			count, worst, report = 0, 0, now
		}
	}
	return nil
}

// words calls f with each word that a page has, and its place.
func (w *work) words(index int, f func(at int, word uint64) bool) bool {
	rng := rand.NewPCG(w.seed, uint64(index))
	last := rng.Uint64()
	for at := index * pageSize; at < (index+1)*pageSize; at += 8 {
		if float64(rng.Uint64()>>11)/(1<<53) < w.share {
			last = rng.Uint64()
		}
		if !f(at, last) {
			return false
		}
	}
	return true
}

func (w *work) write(index int) {
	w.words(index, func(at int, word uint64) bool {
		binary.LittleEndian.PutUint64(w.memory[at:], word)
		return true
	})
}

func (w *work) same(index int) bool {
	return w.words(index, func(at int, word uint64) bool { return binary.LittleEndian.Uint64(w.memory[at:]) == word })
}
