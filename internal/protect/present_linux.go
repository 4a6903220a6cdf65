// SPDX-License-Identifier: Apache-2.0

package protect

import "reflect"

// MakePresent makes the memory present that pointers and slices in v lead to, and what waits in
// channels, but for maps, so that its first use takes no page fault. It is what
// store.Config.Present wants. No other goroutine may use v during the call. Before Linux 5.14 it
// does nothing.
func MakePresent(v any) {
	p := presence{reached: map[place]uintptr{}, leads: map[reflect.Type]bool{}}
	p.follow(reflect.ValueOf(v))
}

// presence is a walk through values.
type presence struct {
	reached map[place]uintptr     // how many bytes of each place are present
	leads   map[reflect.Type]bool // whether values of a type can lead anywhere
}

// A place is where values of a type lie. A structure and its first field begin at the same address.
type place struct {
	start uintptr
	of    reflect.Type
}

func (p presence) follow(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && p.populate(v, v.Type().Elem().Size()) {
			p.follow(v.Elem())
		}
	case reflect.Slice:
		if p.populate(v, uintptr(v.Cap())*v.Type().Elem().Size()) {
			p.each(v)
		}
	case reflect.Array:
		p.each(v)
	case reflect.Interface:
		p.follow(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			p.follow(field)
		}
	case reflect.Chan:
		p.waiting(v)
	}
}

// each follows the elements of a slice or an array, if they can lead anywhere: tables of the codecs
// have millions that cannot.
func (p presence) each(v reflect.Value) {
	if p.canLead(v.Type().Elem()) {
		for i := range v.Len() {
			p.follow(v.Index(i))
		}
	}
}

// canLead reports whether a value of a type can lead to memory outside itself.
func (p presence) canLead(t reflect.Type) (can bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Interface, reflect.Chan:
		return true
	case reflect.Array:
		return p.canLead(t.Elem())
	case reflect.Struct:
		can, known := p.leads[t]
		for i := 0; !known && !can && i < t.NumField(); i++ {
			can = p.canLead(t.Field(i).Type)
		}
		p.leads[t] = can
		return can
	}
	return false
}

// waiting follows what waits in a channel: it takes each value out and puts it back behind the
// others. The zstd library keeps the tables of its encoders and decoders there.
func (p presence) waiting(v reflect.Value) {
	if v.IsNil() || !v.CanAddr() || v.Type().ChanDir() != reflect.BothDir {
		return
	}
	// A field of another package may be looked at but not used: what lies at its address may be.
	c := reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
	for range c.Len() {
		if next, ok := c.TryRecv(); ok && c.TrySend(next) {
			p.follow(next)
		}
	}
}

// populate makes the size bytes present that v points to. It returns false where the walk has been
// there before.
func (p presence) populate(v reflect.Value, size uintptr) bool {
	start, at := v.Pointer(), place{v.Pointer(), v.Type()}
	if p.reached[at] >= size {
		return false
	}
	p.reached[at] = size
	err := populateRange(uint64(start)&^(pageSize-1), (uint64(start+size)+pageSize-1)&^(pageSize-1))
	_ = err // an old kernel, or constants of the program
	return true
}
