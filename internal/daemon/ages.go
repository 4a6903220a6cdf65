// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

func agesStatus(a store.AgeStats) status.Ages {
	ages := status.Ages{Classes: []status.Age{}, Idle: a.Idle, Recompressed: a.Recompressed, Incompressible: a.Incompressible}
	for class, pages := range a.Classes {
		from, to := store.AgeClass(class)
		ages.Classes = append(ages.Classes, status.Age{
			FromSeconds: from.Seconds(), ToSeconds: to.Seconds(), Pages: pages, Refaults: a.Refaults[class],
		})
	}
	return ages
}
