// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"testing"
)

// Steps are undone in reverse, each once, whatever the others do.
func TestCleanup(t *testing.T) {
	var order []int
	stuck := errors.New("stuck")
	var made cleanup
	for i := range 3 {
		made.add(func() error {
			order = append(order, i)
			if i == 1 {
				return stuck
			}
			return nil
		})
	}
	if err := made.undo(); !errors.Is(err, stuck) {
		t.Errorf("error %v, want that of the middle step", err)
	}
	if err := made.undo(); err != nil {
		t.Errorf("undone twice: %v", err)
	}
	if !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("order %v, want 2 1 0", order)
	}
}

func TestRetry(t *testing.T) {
	calls := 0
	err := retry(func() error {
		if calls++; calls < 3 {
			return errors.New("busy")
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
