// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const ram = 8 << 30
	for argument, want := range map[string]string{
		"mem-limit=2G": "mem_limit 2147483648", "mem-limit=50%": "mem_limit 4294967296", "mem-limit=0": "mem_limit 0",
		"algorithm=page:dense": "comp_algorithm page:dense", "algorithm=zstd(level=3)": "comp_algorithm zstd",
		"level=7": "algorithm_params algo=zstd level=7", "peak=0": "mem_used_max 0",
		"spill=/dev/a": "backing_dev /dev/a", "writeback-limit=1G": "writeback_limit 262144, writeback_limit_enable 1",
		"writeback-limit=none": "writeback_limit_enable 0",
		"mem_limit=1G":         "mem_limit 1073741824", "comp_algorithm=lz4": "comp_algorithm lz4", "backing_dev=/dev/a": "backing_dev /dev/a",
		"recomp-algorithm=zstd(level=9)": "recomp_algorithm algo=zstd(level=9) priority=1",
	} {
		c, err := Parse(argument, ram)
		got := ""
		for i, o := range c.orders {
			if i > 0 {
				got += ", "
			}
			got += o.attribute + " " + o.text
		}
		if err != nil || got != want {
			t.Errorf("%s writes %q, %v; want %q", argument, got, err, want)
		}
	}
	for argument, want := range map[string]string{
		"mem-limit": "KEY=VALUE", "limit=2G": "Available: algorithm", "mem-limits=1G": "did you mean mem-limit?", "=1G": "Available", "mem-limit=x": "mem-limit=x",
		"algorithm=lzo": "adaptive", "level=99": "levels are 1 to 19", "peak=1": "only be set to 0", "": "KEY=VALUE", "zswap=200%": "a share of RAM",
	} {
		if _, err := Parse(argument, ram); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", argument, err, want)
		}
	}
}

func TestLevelOf(t *testing.T) {
	for algorithm, want := range map[string]string{
		"zstd": "3", "zstd(level=12)": "12", "zstd(level=1,dict=/a)": "1", "lz4": "-", "zstd(dict=/a)": "3",
	} {
		if got := levelOf(algorithm); got != want {
			t.Errorf("the level of %s is %q, want %q", algorithm, got, want)
		}
	}
}
