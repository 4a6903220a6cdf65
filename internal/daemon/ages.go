// SPDX-License-Identifier: Apache-2.0

package daemon

import "github.com/zramfs/zramfs/store"

// AgesStatus says how long ago stored pages were written or read. It is a second old while pages
// are accessed, and up to a minute while none are.
type AgesStatus struct {
	// Classes has a class for each doubling of the age, the youngest first; empty where the device
	// does not know ages.
	Classes []AgeStatus `json:"classes"`
	// Idle is the number of pages that the attribute idle marked, and no request accessed since.
	Idle uint64 `json:"idle"`
	// Recompressed is the number of stored pages that the attribute recompress has made smaller.
	Recompressed uint64 `json:"recompressed"`
	// Incompressible is the number of stored pages that it could not make smaller.
	Incompressible uint64 `json:"incompressible"`
}

// AgeStatus is a class of ages. Neighbours overlap, since an age is known within a third.
type AgeStatus struct {
	// FromSeconds is the least age.
	FromSeconds float64 `json:"from_seconds"`
	// ToSeconds is the largest age; 0 in the last class, which has no end.
	ToSeconds float64 `json:"to_seconds"`
	// Pages is the number of pages stored of this age.
	Pages uint64 `json:"pages"`
	// Refaults is the number of pages of this age that were read since the device was made.
	Refaults uint64 `json:"refaults"`
}

func agesStatus(s *store.Store, a store.AgeStats) AgesStatus {
	status := AgesStatus{Classes: []AgeStatus{}, Idle: a.Idle, Recompressed: a.Recompressed, Incompressible: a.Incompressible}
	if !s.AgesKnown() {
		return status
	}
	for class, pages := range a.Classes {
		from, to := store.AgeClass(class)
		status.Classes = append(status.Classes, AgeStatus{from.Seconds(), to.Seconds(), pages, a.Refaults[class]})
	}
	return status
}
