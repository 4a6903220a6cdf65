// SPDX-License-Identifier: Apache-2.0

//go:build simulation

package daemon

import (
	"slices"
	"strconv"
	"time"

	"github.com/zramfs/zramfs/internal/simkernel"
	"github.com/zramfs/zramfs/store"
)

const (
	// reliefTime is how long a device has to give back memory that no page needs any longer.
	reliefTime = 2 * time.Minute
	// reliefPages are written then: a segment full of them, if none can be compressed.
	reliefPages = 64
	// reliefLimit is the memory that this takes beyond the index: that segment, and those of other
	// writers, the compactor and the reserve.
	reliefLimit = 5 << 18
)

// relieve discards all pages, and demands that writes succeed from then on: a limit or a shortage
// of memory must not be felt any longer than it is there.
func (m *machine) relieve() {
	for i := 0; i < len(m.model.pages); {
		n := min(64, int(m.model.cluster)-i%int(m.model.cluster), len(m.model.pages)-i)
		m.change("discarded", i, opFallocate, make([]byte, n*store.PageSize), punch(m.model.page(i)*store.PageSize, uint64(n)*store.PageSize))
		i += n
	}
	if m.plan.limit != 0 {
		limit := strconv.FormatUint(m.awaitOwner().store.Stats().IndexBytes+reliefLimit, 10)
		for !slices.Equal(m.settings.may["mem_limit"], []string{limit}) {
			m.settings.set("mem_limit", limit)
		}
	}
	simkernel.Sleep(reliefTime)
	for i := range reliefPages {
		data := m.model.content()
		m.change("written", i, opWrite, data, transferOf(m.model.page(i)*store.PageSize, len(data), data))
	}
	m.compare()
}

// change changes whole pages once no import has them, and demands success.
func (m *machine) change(what string, first int, op uint32, data, argument []byte) {
	n := len(data) / store.PageSize
	simkernel.Until(func() bool {
		return !slices.ContainsFunc(m.model.using[first:first+n], func(users int) bool { return users != 0 })
	})
	m.model.use(first, n, true, 1)
	ends := m.changes(first, 0, data)
	r, givenUp := m.ask(op, n, argument)
	if r.Errno != 0 && !givenUp {
		m.w.Fail("page %d is not %s although there is memory: %v", m.model.page(first), what, r.Errno)
	}
	for _, end := range ends {
		end(r.Errno == 0)
	}
	m.model.release(first, n, true)
}
