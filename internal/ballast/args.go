// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
)

// Args returns the arguments of a process that holds ballast for c, without its role.
func (c Config) Args() []string {
	return append([]string{"--policy=" + string(c.Policy), "--keeper=" + strconv.Itoa(c.Keeper), "--"}, c.Areas...)
}

// ParseArgs reads the arguments that Args has made.
func ParseArgs(args []string) (c Config, err error) {
	f := flag.NewFlagSet("ballast", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	policy := f.String("policy", "", "")
	f.IntVar(&c.Keeper, "keeper", 0, "")
	if err = f.Parse(args); err == nil {
		c.Policy, err = ParsePolicy(*policy)
	}
	c.Areas = f.Args()
	if err == nil && (c.Policy == Keep || c.Keeper <= 0 || len(c.Areas) == 0) {
		err = errors.New("no policy, keeper or area")
	}
	if err != nil {
		return Config{}, fmt.Errorf("zramfsd ballast: %w: zramfs up starts it", err)
	}
	return c, nil
}
