// SPDX-License-Identifier: Apache-2.0

package daemon

import "testing"

func TestParseProcessUse(t *testing.T) {
	text := "Name:\tzramfs\nPPid:\t412\nVmRSS:\t  12896 kB\nRssAnon:\t    1740 kB\nRssFile:\t    6876 kB\nRssShmem:\t    4280 kB\nVmPTE:\t     112 kB\n"
	want := processUse{anon: 1740 << 10, file: 6876 << 10, tables: 112 << 10, parent: "412"}
	if got := parseProcessUse(text); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
