// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// children are the actions of the test binary when its argument is one of these words. Spawn starts
// it so.
var children = map[string]func() error{
	"announce": func() error { return status.WriteReady(announcement(), &status.Report{PID: os.Getpid()}) },
	"fail": func() error {
		return status.WriteFailure(announcement(), &status.StartError{Message: "no device today", Code: 2})
	},
	"hang":       func() error { time.Sleep(time.Hour); return nil },
	"die":        func() error { os.Exit(7); return nil },
	"dictionary": childDictionary,
	"keep":       childKeep,
	"work":       childWork,
	"orphan":     childOrphan,
}

func announcement() *os.File { return os.NewFile(zramfsd.ReadyFD, "announcement") }

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
