// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"reflect"
	"testing"
	"time"
)

// An order arrives as it was given, whatever bytes names have.
func TestOrderArrives(t *testing.T) {
	for _, name := range []string{"", "/run/zram", "/run/ü \n\"", "/run/\xff\xc3"} {
		given := Order{Task: Top, Listen: "127.0.0.1:1", TokenFile: name, TLSCert: name, TLSKey: name, History: name, Output: name,
			Screen: &Screen{Dirs: []string{"a", name}, Interval: time.Second, Width: 80}}
		text, err := given.text()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse([]string{Program, string(Top), text}); err != nil || !reflect.DeepEqual(got, given) {
			t.Errorf("%q: %+v, %+v: %v", name, got, got.Screen, err)
		}
	}
}
