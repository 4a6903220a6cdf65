// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestAnnouncement(t *testing.T) {
	want := &Report{PID: 7, Dir: "/run/zram", Disksize: 1 << 30, Protections: []Protection{
		{Name: NameMemory, State: Fail, Detail: "a \"line\"\nand more", Essential: true},
	}}
	var pipe bytes.Buffer
	if err := WriteReady(&pipe, want); err != nil {
		t.Fatal(err)
	}
	if pipe.Bytes()[0] != 'R' {
		t.Errorf("the first byte is %q, want R", pipe.Bytes()[0])
	}
	got, err := ReadAnnouncement(&pipe)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
}

func TestAnnouncedFailure(t *testing.T) {
	var pipe bytes.Buffer
	if err := WriteFailure(&pipe, &StartError{Message: "mount: busy", Code: 1}); err != nil {
		t.Fatal(err)
	}
	report, err := ReadAnnouncement(&pipe)
	var start *StartError
	if report != nil || !errors.As(err, &start) || *start != (StartError{Message: "mount: busy", Code: 1}) {
		t.Errorf("read %v, %v", report, err)
	}
}

// TestBrokenAnnouncement wants no report and no success from anything that is cut short.
func TestBrokenAnnouncement(t *testing.T) {
	if _, err := ReadAnnouncement(strings.NewReader("")); !errors.Is(err, ErrNoAnnouncement) {
		t.Errorf("nothing: %v, want ErrNoAnnouncement", err)
	}
	for _, text := range []string{"R", "E", `R{"pid":1`, "x", "\x00"} {
		report, err := ReadAnnouncement(strings.NewReader(text))
		var start *StartError
		if report != nil || err == nil || errors.As(err, &start) {
			t.Errorf("%q: read %v, %v", text, report, err)
		}
	}
}

func TestAnnouncementWithoutText(t *testing.T) {
	if err := announce(new(strings.Builder), announceReady, make(chan int)); err == nil || !strings.Contains(err.Error(), "encode announcement: ") {
		t.Errorf("encoded: %v", err)
	}
}
