// SPDX-License-Identifier: Apache-2.0

package chronicle

import (
	"fmt"
	"math"
	"testing"
	"time"
)

var start = time.Unix(1_800_000_000, 0)

// fill adds a row a second; Stored counts seconds.
func fill(c *Chronicle, name string, from time.Time, seconds int) {
	for i := range seconds {
		at := from.Add(time.Duration(i)*time.Second + 300*time.Millisecond)
		r := NewRow(at)
		r.Set(Stored, float64(at.Sub(start)/time.Second))
		c.Add(name, r)
	}
}

// The rows of the last 15 minutes are there, those that are older are not.
func TestRows(t *testing.T) {
	c := New()
	fill(c, "/a", start, 3600)
	rows := c.Rows("/a", start.Add(time.Hour))
	if len(rows) != 899 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		if r.Time != start.Add(time.Duration(2701+i)*time.Second) || r.Values[Stored] != float32(2701+i) || !math.IsNaN(float64(r.Values[CPU])) {
			t.Fatalf("row %d is %+v", i, r)
		}
	}
	if rows := c.Rows("/a", start.Add(2*time.Hour)); rows != nil {
		t.Errorf("%d rows an hour later", len(rows))
	}
	if rows := c.Rows("/b", start.Add(time.Hour)); rows != nil {
		t.Error("rows of an unknown device")
	}
}

// A ninth device takes the place of the one not seen for longest, and none of its rows.
func TestManyDevices(t *testing.T) {
	c := New()
	for i := range MaxDevices + 1 {
		fill(c, fmt.Sprint("/", i), start.Add(time.Duration(i)*time.Hour), 60)
	}
	if names := fmt.Sprint(c.Devices()); names != "[/8 /1 /2 /3 /4 /5 /6 /7]" {
		t.Error(names)
	}
	if rows := c.Rows("/8", start.Add(8*time.Hour+time.Minute)); len(rows) != 60 {
		t.Errorf("%d rows, want 60", len(rows))
	}
}

// Nine devices at once: eight have their whole history, and the ninth has none until one of them is
// gone. A clock that is set back changes nothing.
func TestMoreDevicesThanRoom(t *testing.T) {
	c := New()
	look := func(first int, from time.Time) {
		for i := range 120 {
			for d := first; d <= MaxDevices; d++ {
				fill(c, fmt.Sprint("/", d), from.Add(time.Duration(i)*time.Second), 1)
			}
		}
	}
	look(0, start)
	for d := range MaxDevices {
		if rows := c.Rows(fmt.Sprint("/", d), start.Add(2*time.Minute)); len(rows) != 120 {
			t.Errorf("device %d has %d rows, want 120", d, len(rows))
		}
	}
	back := start.Add(-24 * time.Hour)
	look(1, back)
	if rows := c.Rows(fmt.Sprint("/", MaxDevices), back.Add(2*time.Minute)); len(rows) != 120 {
		t.Errorf("once there is room, the ninth has %d rows, want 120", len(rows))
	}
}
