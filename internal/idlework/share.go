// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"fmt"
	"strconv"
	"strings"
)

// A Share is the part of one processor that packing may take, in per cent; 0 for none.
type Share int

// Default is the share that a device takes where nothing else was asked for.
const Default Share = 5

// off is the text of Share 0.
const off = "off"

// ParseShare reads "off" or a whole number from 1 to 100, with or without a per cent sign.
func ParseShare(text string) (Share, error) {
	if text == off {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	if err != nil || n < 1 || n > 100 {
		return 0, fmt.Errorf("%q is no share of a processor: give 1%% to 100%%, or off", text)
	}
	return Share(n), nil
}

// String is what ParseShare reads.
func (s Share) String() string {
	if s == 0 {
		return off
	}
	return strconv.Itoa(int(s)) + "%"
}
