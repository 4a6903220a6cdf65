// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A version is what packages of one commit are called. A later commit has a later version in the
// order of each package manager; one before the first tag is before each release.
type version struct {
	upstream string // of deb and rpm, without their release
	alpine   string // of apk, without its release
}

var (
	tagged  = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)$`)
	further = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)-\d+-g([0-9a-f]+)(-dirty)?$`)
	commit  = regexp.MustCompile(`^([0-9a-f]{7,40})(-dirty)?$`)
)

// parseVersion reads what git describe says of a commit of that time.
func parseVersion(described string, at time.Time) (version, error) {
	stamp := "git" + at.UTC().Format("20060102150405")
	if m := tagged.FindStringSubmatch(described); m != nil {
		return version{m[1], m[1]}, nil
	}
	if m := further.FindStringSubmatch(described); m != nil {
		return version{m[1] + "+" + stamp + "." + m[2] + dirt(m[3]), m[1] + "_" + stamp}, nil
	}
	if m := commit.FindStringSubmatch(described); m != nil {
		return version{"0.0.0~" + stamp + "." + m[1] + dirt(m[2]), "0.0.0_" + stamp}, nil
	}
	return version{}, fmt.Errorf("version %q: want what git describe --tags --always says, with tags as v1.2.3", described)
}

func dirt(dirty string) string { return strings.Replace(dirty, "-", ".", 1) }
