// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"os"
	"slices"
	"strings"
)

// debugVariable is an environment variable for tests of the time after a worker has died. It lists
// the words below, separated by commas; other words are ignored.
const debugVariable = "ZRAMFS_DEBUG"

const (
	// debugNoResend: do as if the kernel could not send unanswered requests again, as before Linux
	// 6.9.
	debugNoResend = "no-resend"
	// debugNoPause: start another worker at once, however many have died.
	debugNoPause = "no-pause"
)

// debugging reports whether a word stands in debugVariable.
func debugging(word string) bool {
	return slices.Contains(strings.Split(os.Getenv(debugVariable), ","), word)
}
