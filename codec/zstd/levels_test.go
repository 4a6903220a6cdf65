// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// total returns the bytes that the first pages of every kind take at a level.
func total(t *testing.T, level int) int {
	t.Helper()
	enc, err := NewEncoder(level)
	if err != nil {
		t.Fatal(err)
	}
	object := make([]byte, MaxObject)
	sum := 0
	for _, page := range codectest.Generated()[:400] {
		n, err := enc.Compress(object, page)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

func TestF017LevelsDiffer(t *testing.T) {
	fastest, best := total(t, MinLevel), total(t, MaxLevel)
	if best >= fastest {
		t.Errorf("level %d takes %d bytes, level %d %d", MinLevel, fastest, MaxLevel, best)
	}
}

func TestLevelsThatDoNotExist(t *testing.T) {
	for _, level := range []int{-1, 0, 20, 22} {
		if _, err := NewEncoder(level); !errors.Is(err, ErrLevel) {
			t.Errorf("level %d: got %v", level, err)
		}
	}
}
