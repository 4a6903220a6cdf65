// SPDX-License-Identifier: Apache-2.0

package chronicle

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

var start = time.Unix(1_800_000_000, 0) // the begin of an hour, and so of each step

// fill adds a row a second; Stored counts seconds, ReadP99 is 9 once in 10 seconds and 1 else.
func fill(c *Chronicle, name string, from time.Time, seconds int) {
	for i := range seconds {
		at := from.Add(time.Duration(i) * time.Second)
		r := NewRow(at)
		r.Set(Stored, float64(at.Sub(start)/time.Second))
		r.Set(ReadP99, 1)
		if i%10 == 3 {
			r.Set(ReadP99, 9)
		}
		c.Add(name, r)
	}
}

func TestRowsByStep(t *testing.T) {
	c := New()
	fill(c, "/a", start, 24*3600)
	end := start.Add(24 * time.Hour)
	for _, test := range []struct{ within, step time.Duration }{
		{10 * time.Minute, time.Second}, {15 * time.Minute, time.Second}, {3 * time.Hour, 10 * time.Second}, {24 * time.Hour, time.Minute},
	} {
		rows, step := c.Rows("/a", end, test.within)
		if step != test.step || len(rows) < int(test.within/step)-1 || len(rows) > int(test.within/step)+1 {
			t.Fatalf("%s: %d rows of %s", test.within, len(rows), step)
		}
		for i, r := range rows {
			if i > 0 && r.Time.Sub(rows[i-1].Time) != step {
				t.Fatalf("%s: from %s to %s", test.within, rows[i-1].Time, r.Time)
			}
			mean := r.Time.Sub(start).Seconds() + (step.Seconds()-1)/2
			if math.Abs(float64(r.Values[Stored])-mean) > 0.01 || !math.IsNaN(float64(r.Values[CPU])) {
				t.Fatalf("%s: %+v, want a mean of %v", test.within, r, mean)
			}
			if step > time.Second && r.Values[ReadP99] != 9 {
				t.Fatalf("%s: the largest p99 is lost: %+v", test.within, r)
			}
		}
	}
	if rows, _ := c.Rows("/b", end, time.Hour); rows != nil {
		t.Error("rows of an unknown device")
	}
}

// The rows are there after a crash, which leaves the file as it is, and after an orderly end.
func TestSurvivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "history")
	for _, crash := range []bool{true, false} {
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		fill(c, "/a", start, 7200)
		fill(c, "/b", start, 100)
		if _, err := Open(path); !errors.Is(err, ErrInUse) {
			t.Errorf("opened twice: %v", err)
		}
		if beside, err := Read(path); err != nil || len(beside.Devices()) != 2 {
			t.Errorf("read meanwhile: %v", err)
		}
		if crash {
			err = c.file.close()
		} else {
			err = c.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := again.Rows("/a", start.Add(2*time.Hour), 10*time.Minute)
		if len(rows) < 58 || rows[len(rows)-1].Time.Before(start.Add(2*time.Hour-21*time.Second)) {
			t.Errorf("crash %v: %d rows are left", crash, len(rows))
		}
		if names := fmt.Sprint(again.Devices()); names != "[/a /b]" {
			t.Errorf("crash %v: %s", crash, names)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != fileSize() || info.Mode().Perm() != 0o600 {
		t.Errorf("%+v, %v", info, err)
	}
}

// A damaged record is a gap, a damaged header an empty history, and another file is left alone.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	fill(c, "/a", start, 1000)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[offset(0, 1, start.Add(500*time.Second))+12] ^= 1
	reopen := func() []Row {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := c.Rows("/a", start.Add(1000*time.Second), time.Hour)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if rows := reopen(); len(rows) != 99 {
		t.Errorf("%d rows with one damaged, want 99", len(rows))
	}
	text[15] = 'x'
	if rows := reopen(); len(rows) != 0 {
		t.Errorf("%d rows of another format", len(rows))
	}
	text = make([]byte, fileSize()) // as the machine lost power before the header was written
	if rows := reopen(); len(rows) != 0 {
		t.Errorf("%d rows of a file of zeros", len(rows))
	}
	if again, err := Read(path); err != nil || len(again.Devices()) != 0 {
		t.Errorf("a file of zeros did not begin anew: %v", err)
	}
	text = make([]byte, headerSize)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil {
		t.Error("another file of zeros was taken for a history")
	}
	if err := os.WriteFile(path, []byte("a letter to a friend"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil {
		t.Error("another file was taken for a history")
	}
	if _, err := Read(path); err == nil {
		t.Error("another file was read as a history")
	}
	if text, _ := os.ReadFile(path); string(text) != "a letter to a friend" {
		t.Errorf("another file was changed: %.20q", text)
	}
}

// A pipe is refused at once, and so is another user's file, which would show that user the figures.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	pipe, other := filepath.Join(dir, "pipe"), filepath.Join(dir, "other")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(pipe); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("open a pipe: %v", err)
	}
	if _, err := Read(pipe); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("read a pipe: %v", err)
	}
	require.Root(t)
	if err := os.WriteFile(other, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(other, 4711, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other); err == nil || !strings.Contains(err.Error(), "belongs to another user (UID 4711)") {
		t.Errorf("a file of another user: %v", err)
	}
}

// A ninth device takes the place of the one not seen for longest, and none of its rows.
func TestManyDevices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range MaxDevices + 1 {
		fill(c, fmt.Sprint("/", i), start.Add(time.Duration(i)*time.Hour), 60)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if names := fmt.Sprint(c.Devices()); names != "[/8 /1 /2 /3 /4 /5 /6 /7]" {
		t.Error(names)
	}
	if rows, _ := c.Rows("/8", start.Add(9*time.Hour), 3*time.Hour); len(rows) != 6 {
		t.Errorf("%d rows, want 6", len(rows))
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
		if rows, _ := c.Rows(fmt.Sprint("/", d), start.Add(2*time.Minute), 10*time.Minute); len(rows) != 120 {
			t.Errorf("device %d has %d rows, want 120", d, len(rows))
		}
	}
	back := start.Add(-24 * time.Hour)
	look(1, back)
	if rows, _ := c.Rows(fmt.Sprint("/", MaxDevices), back.Add(2*time.Minute), 10*time.Minute); len(rows) != 120 {
		t.Errorf("once there is room, the ninth has %d rows, want 120", len(rows))
	}
}
