// SPDX-License-Identifier: Apache-2.0

package host

import "testing"

func TestParseUsage(t *testing.T) {
	text := "Name:\tzramfs\nPPid:\t412\nVmRSS:\t  12896 kB\nRssAnon:\t    1740 kB\nRssFile:\t    6876 kB\nRssShmem:\t    4280 kB\nVmPTE:\t     112 kB\n"
	want := Usage{Anon: 1740 << 10, File: 6876 << 10, Tables: 112 << 10, Parent: 412}
	if got := parseUsage(text); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
