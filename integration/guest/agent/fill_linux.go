// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pageSize = 4096
	// chance is the share of random words in a page, which decides how far codecs compress it: to
	// a bit more than this share of its size.
	chance = 0.3
)

// fillCommand is "fill MIB": it takes that much memory, writes pages that compress to about a
// third, and reads each back, in a random order, once a round. It prints a line for each round, and
// fails for a page that is not as it was written.
func fillCommand(args []string) error {
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	rounds := flags.Int("rounds", 1, "how often each page is read")
	hold := flags.Bool("hold", false, "wait for a signal at the end")
	if err := flags.Parse(args); err != nil {
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
	seed := uint64(os.Getpid())
	pages := len(memory) / pageSize
	begin := time.Now()
	for i := range pages {
		writePage(memory[i*pageSize:][:pageSize], seed, uint64(i))
	}
	fmt.Printf("written %d MiB in %.2f s\n", mib, time.Since(begin).Seconds())
	for round := range *rounds {
		worst, at := time.Duration(0), 0
		begin := time.Now()
		for _, i := range rand.New(rand.NewPCG(seed, uint64(round))).Perm(pages) {
			start := time.Now()
			page := memory[i*pageSize:][:pageSize]
			if !samePage(page, seed, uint64(i)) {
				return fmt.Errorf("page %d is not as it was written", i)
			}
			if took := time.Since(start); took > worst {
				worst, at = took, i
			}
		}
		fmt.Printf("round %d read in %.2f s, worst page %d in %.3f s\n", round, time.Since(begin).Seconds(), at, worst.Seconds())
	}
	if *hold {
		select {}
	}
	return nil
}

// words calls f with each word that a page has, and its place.
func words(seed, index uint64, f func(at int, word uint64) bool) bool {
	rng := rand.NewPCG(seed, index)
	last := rng.Uint64()
	for at := 0; at < pageSize; at += 8 {
		if float64(rng.Uint64()>>11)/(1<<53) < chance {
			last = rng.Uint64()
		}
		if !f(at, last) {
			return false
		}
	}
	return true
}

func writePage(page []byte, seed, index uint64) {
	words(seed, index, func(at int, word uint64) bool {
		binary.LittleEndian.PutUint64(page[at:], word)
		return true
	})
}

func samePage(page []byte, seed, index uint64) bool {
	return words(seed, index, func(at int, word uint64) bool { return binary.LittleEndian.Uint64(page[at:]) == word })
}
