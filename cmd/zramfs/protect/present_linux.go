// SPDX-License-Identifier: Apache-2.0

package protect

import "reflect"

// MakePresent makes the memory present that pointers and slices in v lead to, but for maps and
// channels, so that its first use takes no page fault. It is what store.Config.Present wants. No
// other goroutine may change v during the call. Before Linux 5.14 it does nothing.
func MakePresent(v any) {
	p := presence{}
	p.follow(reflect.ValueOf(v))
}

// presence is a walk through values: the set of addresses that it has reached.
type presence map[uintptr]bool

func (p presence) follow(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && p.populate(v.Pointer(), v.Type().Elem().Size()) {
			p.follow(v.Elem())
		}
	case reflect.Slice:
		if v.Cap() > 0 && p.populate(v.Pointer(), uintptr(v.Cap())*v.Type().Elem().Size()) {
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
	}
}

// each follows the elements of a slice or an array, if they can lead anywhere.
func (p presence) each(v reflect.Value) {
	switch v.Type().Elem().Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Interface, reflect.Struct:
		for i := range v.Len() {
			p.follow(v.Index(i))
		}
	}
}

// populate makes size bytes present. It returns false for an address that the walk has reached
// before.
func (p presence) populate(start, size uintptr) bool {
	if p[start] || size == 0 {
		return false
	}
	p[start] = true
	err := populateRange(uint64(start)&^(pageSize-1), (uint64(start+size)+pageSize-1)&^(pageSize-1))
	_ = err // an old kernel, or constants of the program
	return true
}
