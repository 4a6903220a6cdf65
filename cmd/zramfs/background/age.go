// SPDX-License-Identifier: Apache-2.0

package background

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
	// memory is for how many minutes an age remains the least: it falls only after as many minutes
	// that all ask for less, and rises at once.
	memory = 5
)

// An ageFinder finds the age from which on pages are cold. One goroutine uses it.
type ageFinder struct {
	seen   [store.AgeClasses]uint64 // reads by age, as of the last look
	looked bool
	recent [memory]time.Duration // what each of the last minutes asked for; 0 before there were as many
	next   int                   // place of the next minute in recent
	rate   float64               // part of the stored pages that was read in the last minute after it became cold
}

// look takes the reads of pages by their age since the device was made, and the number of pages
// stored, some time after the last look. It returns the age from which on pages are cold; mostAge
// until it knows enough.
func (f *ageFinder) look(reads [store.AgeClasses]uint64, stored uint64, since time.Duration) time.Duration {
	before := f.age()
	var fresh [store.AgeClasses]uint64
	for class := range reads {
		if reads[class] > f.seen[class] {
			fresh[class] = reads[class] - f.seen[class]
		}
	}
	f.seen = reads
	if !f.looked || since <= 0 {
		f.looked = true
		return before
	}
	perPage := float64(time.Minute) / float64(since) / float64(max(stored, 1))
	f.recent[f.next%memory] = leastOf(&fresh, perPage)
	f.next++
	f.rate = float64(beyond(&fresh, before)) * perPage
	return f.age()
}

// age is the present answer.
func (f *ageFinder) age() (age time.Duration) {
	if f.next < memory {
		return mostAge
	}
	for _, asked := range f.recent {
		age = max(age, asked)
	}
	return age
}

// leastOf returns the least age beyond which the reads stay within the target.
func leastOf(reads *[store.AgeClasses]uint64, perPage float64) time.Duration {
	for class := range reads {
		from, _ := store.AgeClass(class)
		if from >= leastAge && from < mostAge && float64(beyond(reads, from))*perPage < target {
			return from
		}
	}
	return mostAge
}

// beyond is how many reads were of pages of at least that age.
func beyond(reads *[store.AgeClasses]uint64, age time.Duration) (n uint64) {
	for class, count := range reads {
		if from, _ := store.AgeClass(class); from >= age {
			n += count
		}
	}
	return n
}
