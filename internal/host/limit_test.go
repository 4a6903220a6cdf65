// SPDX-License-Identifier: Apache-2.0

package host

import "testing"

func TestLockLimit(t *testing.T) {
	const head = "Limit   Soft Limit   Hard Limit   Units\n"
	for text, want := range map[string]string{
		head + "Max locked memory         8388608              9388608              bytes     \n": "8388608",
		head + "Max locked memory         unlimited            unlimited            bytes     \n": Unlimited,
		head: "",
	} {
		got, err := tree(t, map[string]string{"proc/self/limits": text}).LockLimit()
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}
