// SPDX-License-Identifier: Apache-2.0

package chronicle

import (
	"slices"
	"sync"
	"time"
)

// Kept is the time for which rows are kept.
const Kept = 15 * time.Minute

// MaxDevices is the number of devices that are kept. A further one takes the place of the one not
// seen for longest, and is left out while all of them are there.
const MaxDevices = 8

// present is the time for which a device keeps its place after its last row.
const present = time.Minute

// A Chronicle is the history of devices.
type Chronicle struct {
	mu      sync.Mutex
	devices []*device
}

// device is the history of one device.
type device struct {
	name string
	seen time.Time
	rows [Kept / time.Second]Row // a row's place follows from its time
}

// New returns an empty chronicle.
func New() *Chronicle { return &Chronicle{} }

// Add adds a row of a device. Rows of a device come in the order of time; the last one of a second
// counts.
func (c *Chronicle) Add(name string, r Row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.place(name, r.Time); d != nil {
		d.seen = r.Time
		r.Time = r.Time.Truncate(time.Second)
		d.rows[r.Time.Unix()%int64(len(d.rows))] = r
	}
}

// place returns the device of that name, which it makes if need be; nil where there is no room for
// it at that time. Devices that took each other's place at each row would all be without a history.
func (c *Chronicle) place(name string, now time.Time) *device {
	if n := slices.IndexFunc(c.devices, func(d *device) bool { return d.name == name }); n >= 0 {
		return c.devices[n]
	}
	d := &device{name: name}
	if len(c.devices) < MaxDevices {
		c.devices = append(c.devices, d)
		return d
	}
	away := func(d *device) time.Duration { return now.Sub(d.seen).Abs() } // the clock may have been set back
	n := 0
	for i, d := range c.devices {
		if away(d) > away(c.devices[n]) {
			n = i
		}
	}
	if away(c.devices[n]) < present {
		return nil
	}
	c.devices[n] = d
	return d
}

// Devices returns the names of all devices with rows.
func (c *Chronicle) Devices() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]string, len(c.devices))
	for i, d := range c.devices {
		all[i] = d.name
	}
	return all
}

// Rows returns the rows of a device of the last 15 minutes, the oldest first.
func (c *Chronicle) Rows(name string, now time.Time) (rows []Row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := slices.IndexFunc(c.devices, func(d *device) bool { return d.name == name })
	if n < 0 {
		return nil
	}
	for _, r := range c.devices[n].rows {
		if r.Time.Unix() > 0 && now.Sub(r.Time) < Kept && !r.Time.After(now) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return a.Time.Compare(b.Time) })
	return rows
}
