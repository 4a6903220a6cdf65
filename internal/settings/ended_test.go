// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/swapdev"
)

func TestMain(m *testing.M) {
	if helper.Run(os.Args, os.Stdout) { // a change that is tested has started this process
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A device that ends after it was found is said to have ended.
func TestOfAnEndedDevice(t *testing.T) {
	d := swapdev.Device{Dir: t.TempDir()} // unmounted by now
	change, err := Parse("mem-limit=1G", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	_, read := RecompressionBy(d)
	for name, err := range map[string]error{
		"set": change.Apply(d), "compact": Work{order{"compact", "1"}}.Do(context.Background(), d), "recompress": read,
	} {
		if !errors.Is(err, swapdev.ErrNotRunning) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
