// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"time"

	"github.com/zramfs/zramfs/store"
)

const (
	// target is the share of the stored pages that may be read in a minute after they became cold.
	target = 0.002
	// leastAge and mostAge bound the age of cold pages.
	leastAge = 2 * time.Minute
	mostAge  = 6 * time.Hour
	// memory is over how many minutes the share is a mean: an age falls once they allow it, and
	// rises at once where the last one alone asks for that.
	memory = 7
)

// shares are the parts of the stored pages that were read in a minute, by their age.
type shares [store.AgeClasses]float64

// An ageFinder finds the age from which on pages are cold. One goroutine uses it.
type ageFinder struct {
	seen   [store.AgeClasses]uint64 // reads by age, as of the last look
	looked bool
	recent [memory]shares // of the last minutes
	next   int            // place of the next minute in recent
	rate   float64        // part of the stored pages that was read in the last minute after it became cold
}

// look takes the reads of pages by their age since the device was made, and the number of pages
// stored, some time after the last look. It returns the age from which on pages are cold; mostAge
// until it knows enough.
func (f *ageFinder) look(reads [store.AgeClasses]uint64, stored uint64, since time.Duration) time.Duration {
	before := f.age()
	var fresh shares
	for class := range reads {
		if reads[class] > f.seen[class] {
			fresh[class] = float64(reads[class]-f.seen[class]) / float64(max(stored, 1)) * float64(time.Minute) / float64(max(since, 1))
		}
	}
	f.seen = reads
	if !f.looked || since <= 0 {
		f.looked = true
		return before
	}
	f.recent[f.next%memory] = fresh
	f.next++
	f.rate = fresh.beyond(before)
	return f.age()
}

// age is the present answer.
func (f *ageFinder) age() time.Duration {
	if f.next < memory {
		return mostAge
	}
	var mean shares
	for _, minute := range f.recent {
		for class, share := range minute {
			mean[class] += share / memory
		}
	}
	return max(mean.coldFrom(), f.recent[(f.next-1)%memory].coldFrom())
}

// coldFrom returns the least age beyond which the reads stay within the target.
func (s *shares) coldFrom() time.Duration {
	for class := range s {
		from, _ := store.AgeClass(class)
		if from >= leastAge && from < mostAge && s.beyond(from) < target {
			return from
		}
	}
	return mostAge
}

// beyond is the share of pages of at least that age.
func (s *shares) beyond(age time.Duration) (sum float64) {
	for class, share := range s {
		if from, _ := store.AgeClass(class); from >= age {
			sum += share
		}
	}
	return sum
}
