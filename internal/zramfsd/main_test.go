// SPDX-License-Identifier: Apache-2.0

package zramfsd

import (
	"fmt"
	"os"
	"testing"
)

// children are the actions of the test binary when its argument is one of these words. Begin starts
// it so.
var children = map[string]func() error{
	"announce":    childAnnounce,
	"fail":        childFail,
	"fail-tidily": childFailTidily,
	"die":         func() error { os.Exit(7); return nil },
	"babble":      childBabble,
	"hang":        childHang,
	"descriptors": childDescriptors,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if child, ok := children[os.Args[1]]; ok {
			if err := child(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}
