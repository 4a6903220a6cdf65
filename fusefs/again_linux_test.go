// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"slices"
	"testing"
)

// A request that is left once more is carried out from its slot: the kernel is not asked for it.
func TestLeftRequestIsNotSentAgain(t *testing.T) {
	l := newLeftOf(t, requestsShape{attributes: 2, data: 2, transfer: leftTransfer})
	l.session.requests.keepInit(attributeConnection, initRequest(2))
	all, err := l.session.requests.slots(attributeConnection)
	if err != nil {
		t.Fatal(err)
	}
	for _, outcome := range []error{ErrLeft, nil} {
		s, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm(), Resize: func(uint64, uint64) error { return outcome }})
		if err != nil {
			t.Fatal(err)
		}
		if outcome != nil {
			l.put(all[0], request(opWrite, 10, s.attributes.fs.tree.lookup(deviceNode, "reset").id, append(transferArgument(0, 1), '1')))
		}
		if err := errors.Join(s.attributes.recover(), s.attributes.finish(), s.Close()); err != nil {
			t.Fatal(err)
		}
		got := l.heard(attributeConnection)
		answers := slices.DeleteFunc(slices.Clone(got), func(a answered) bool { return a.unique == 0 })
		if left := outcome != nil; left && len(got) != 0 || !left && (len(answers) != 1 || answers[0].unique != 10 || len(got) != 2) {
			t.Errorf("left: %v, and the kernel was told %+v", left, got)
		}
	}
}
