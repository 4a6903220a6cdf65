// SPDX-License-Identifier: Apache-2.0

package require

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// demands returns the requirements that the environment says must be met.
func demands() ([]string, error) {
	var demanded []string
	for field := range strings.SplitSeq(os.Getenv(Variable), ",") {
		name := strings.TrimSpace(field)
		if name == "" {
			continue
		}
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("read %s: unknown requirement %q, known are %s", Variable, name, strings.Join(names, ","))
		}
		demanded = append(demanded, name)
	}
	return demanded, nil
}
