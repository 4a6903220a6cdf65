// SPDX-License-Identifier: Apache-2.0

package top

// helpLines explain keys and rows.
var helpLines = []struct{ name, text string }{
	{"q", "quit"},
	{"w", "all processes with memory in swap, and back"},
	{"p", "pause, and go on"},
	{"tab n b", "the next device, the one before"},
	{"? esc", "this page, and back"},
	{"", ""},
	{"swap", "what programs use of the swap areas; the growth is of the last minute"},
	{"memory", "what the device takes for all that it stores; the bar is of the size of swap"},
	{"zswap", "what zswap takes for its pages in front of the device; pages read, written back"},
	{"saved", "memory of programs in swap, less that of device, processes and zswap"},
	{"ratio", "data for each byte of memory in the device and zswap, over time"},
	{"in out", "pages read from and written to the device; times are in the device"},
	{"", "alone, and of the last interval: half and 99 % of requests took less"},
	{"codec", "formats of the stored pages"},
	{"cpu", "processor time of keeper and worker"},
	{"pressure", "time in which some or all tasks waited for memory (/proc/pressure)"},
	{"trouble", "why it is degraded; zramfs status says what to do"},
}

// helpText draws the help from line y to the one above bottom.
func (c *canvas) helpText(y, bottom int) {
	for i, l := range helpLines {
		if y+i < bottom {
			c.text(0, y+i, strong, l.name)
			c.text(labelWidth, y+i, plain, l.text)
		}
	}
}
