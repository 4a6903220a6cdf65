// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"slices"
	"testing"
)

func TestParseList(t *testing.T) {
	for text, want := range map[string][]int{
		"0": {0}, "0-3": {0, 1, 2, 3}, "0-1,8,10-11": {0, 1, 8, 10, 11},
	} {
		if got, err := parseList(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "3-1", "-1", "0-", "0,,1", "0-99999999"} {
		if got, err := parseList(text); !errors.Is(err, errList) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// Each queue has an entry, because the kernel does not use the rings otherwise.
func TestEveryQueueHasAnEntry(t *testing.T) {
	for _, online := range [][]int{{0, 1, 2, 3}, {0}, {1, 3}} {
		c, err := newCPUs([]int{0, 1, 2, 3}, online)
		if err != nil {
			t.Fatal(err)
		}
		count := make([]int, 4)
		places := c.places(5)
		for _, p := range places {
			if p.worker < 0 || p.worker >= c.Workers() {
				t.Fatalf("no worker %d", p.worker)
			}
			count[p.queue]++
		}
		for q, n := range count {
			if want := map[bool]int{true: 5, false: 1}[slices.Contains(online, q)]; n != want {
				t.Errorf("online %v: queue %d has %d entries, want %d", online, q, n, want)
			}
		}
		if len(places) != c.total(5) {
			t.Errorf("%d entries, total says %d", len(places), c.total(5))
		}
	}
	if _, err := newCPUs([]int{0}, nil); err == nil {
		t.Error("no CPU is online, and that is no error")
	}
}

func TestConfigIsChecked(t *testing.T) {
	cpus, err := newCPUs([]int{0, 1}, []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	good := Config{CPUs: cpus, Entries: 2, Payload: MinPayload, Handle: func(int, *Request) {}}
	if good.Memory, err = memory(good.Size()); err != nil {
		t.Fatal(err)
	}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"no CPUs":        func(c *Config) { c.CPUs = CPUs{} },
		"no entries":     func(c *Config) { c.Entries = 0 },
		"small payload":  func(c *Config) { c.Payload = 4096 },
		"odd payload":    func(c *Config) { c.Payload = MinPayload + 1 },
		"little memory":  func(c *Config) { c.Memory = c.Memory[:len(c.Memory)-1] },
		"crooked memory": func(c *Config) { c.Entries, c.Memory = 1, c.Memory[8:] },
		"no handler":     func(c *Config) { c.Handle = nil },
	} {
		bad := good
		spoil(&bad)
		if err := bad.check(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
