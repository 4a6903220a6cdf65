// SPDX-License-Identifier: Apache-2.0

package chronicle

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/zramfs/zramfs/internal/safeopen"
)

// A tier keeps rows of one step.
type tier struct {
	step time.Duration
	rows int
}

// tiers are the steps and how many rows of each are kept, the finest first. Those after the first
// are in the file, whose format they are part of.
var tiers = []tier{{time.Second, 900}, {10 * time.Second, 1080}, {time.Minute, 1440}}

// MaxDevices is the number of devices that are kept. A further one takes the place of the one not
// seen for longest, and is left out while all of them are there.
const MaxDevices = 8

// present is the time for which a device keeps its place after its last row.
const present = time.Minute

// A Chronicle is the history of devices.
type Chronicle struct {
	mu      sync.Mutex
	devices []*device // as in the file
	file    *file     // nil without one
	failed  error     // the first error of the file since it was last asked for
}

// device is the history of one device.
type device struct {
	name  string
	seen  time.Time
	rings [][]Row // by tier; a row's place follows from its time
	open  []gathering
}

func newDevice(name string) *device {
	d := &device{name: name, open: make([]gathering, len(tiers))}
	for _, t := range tiers {
		d.rings = append(d.rings, make([]Row, t.rows))
	}
	return d
}

// New returns a chronicle in memory alone.
func New() *Chronicle { return &Chronicle{} }

// Open returns the chronicle in the file at path, which it makes if there is none. A file of
// another format or a damaged one begins anew. The error wraps ErrInUse while another process has
// it.
func Open(path string) (*Chronicle, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	c := &Chronicle{file: f}
	if c.devices, err = f.load(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return c, nil
}

// Close closes the file. Steps that have not ended are written as they are.
func (c *Chronicle) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	for n, d := range c.devices {
		for i := range tiers {
			c.end(n, d, i)
		}
	}
	err := errors.Join(c.failed, c.file.close())
	c.file = nil
	return err
}

// Failure returns the first error of writing the file since it was last called. The chronicle goes
// on in memory.
func (c *Chronicle) Failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.failed
	c.failed = nil
	return err
}

// Add adds a row of a device. Rows of a device come in the order of time.
func (c *Chronicle) Add(name string, r Row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.place(name, r.Time)
	if n < 0 {
		return
	}
	d := c.devices[n]
	d.seen = r.Time
	for i, t := range tiers {
		step := r.Time.Unix() / int64(t.step/time.Second)
		if d.open[i].at != step {
			c.end(n, d, i)
			d.open[i] = gathering{at: step}
		}
		d.open[i].add(r)
	}
}

// end stores the row of a step.
func (c *Chronicle) end(n int, d *device, i int) {
	g := d.open[i]
	if g.at == 0 {
		return
	}
	row := g.row(tiers[i].step)
	d.rings[i][int(g.at)%tiers[i].rows] = row
	if c.file != nil && i > 0 {
		if err := c.file.write(n, d, i, row); err != nil && c.failed == nil {
			c.failed = err
		}
	}
}

// place returns the number of a device, which it makes if need be; -1 where there is no room for it
// at that time. Devices that took each other's place at each row would all be without a history.
func (c *Chronicle) place(name string, now time.Time) int {
	n := slices.IndexFunc(c.devices, func(d *device) bool { return d.name == name })
	if n >= 0 {
		return n
	}
	if n = len(c.devices); n < MaxDevices {
		c.devices = append(c.devices, newDevice(name))
	} else {
		n = 0
		away := func(d *device) time.Duration { return now.Sub(d.seen).Abs() } // the clock may have been set back
		for i, d := range c.devices {
			if away(d) > away(c.devices[n]) {
				n = i
			}
		}
		if away(c.devices[n]) < present {
			return -1
		}
		c.devices[n] = newDevice(name)
	}
	if c.file != nil {
		if err := c.file.name(n, name); err != nil && c.failed == nil {
			c.failed = err
		}
	}
	return n
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

// Rows returns the rows of a device within the time before now, the oldest first, and their step:
// the finest one that covers the time. Where finer rows than the oldest asked for are missing, as
// after a start, those of a longer step take their place.
func (c *Chronicle) Rows(name string, now time.Time, within time.Duration) (rows []Row, step time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := 0
	for first < len(tiers)-1 && tiers[first].step*time.Duration(tiers[first].rows) < within {
		first++
	}
	n := slices.IndexFunc(c.devices, func(d *device) bool { return d.name == name })
	if n < 0 {
		return nil, tiers[first].step
	}
	from, until := now.Add(-within), now.Add(time.Second)
	for i := first; i < len(tiers); i++ {
		if len(rows) > 0 { // a row's time is the begin of its step, which has to end before the others
			until = rows[0].Time.Add(time.Second - tiers[i].step)
		}
		rows = append(c.devices[n].between(i, from, until), rows...)
	}
	return rows, tiers[first].step
}

// between returns the rows of a tier within a time, the open one included.
func (d *device) between(i int, from, until time.Time) []Row {
	var rows []Row
	inside := func(r Row) bool { return r.Time.Unix() > 0 && !r.Time.Before(from) && r.Time.Before(until) }
	for _, r := range d.rings[i] {
		if inside(r) {
			rows = append(rows, r)
		}
	}
	if d.open[i].at > 0 {
		if r := d.open[i].row(tiers[i].step); inside(r) {
			rows = append(slices.DeleteFunc(rows, func(o Row) bool { return o.Time.Equal(r.Time) }), r)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return a.Time.Compare(b.Time) })
	return rows
}

// Read returns what the file at path has, and leaves the file to the process that writes it. Adding
// to it changes nothing in the file.
func Read(path string) (*Chronicle, error) {
	f, err := safeopen.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	all, err := (&file{f}).load()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return &Chronicle{devices: all}, nil
}
