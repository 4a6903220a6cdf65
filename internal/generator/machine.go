// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"fmt"
	"os"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
)

// parameter is on the kernel's command line, for every generator of compressed swap.
const parameter = "systemd.zram"

// An Answer is what the command line of the kernel says about devices.
type Answer int

// The answers. The last word of several counts.
const (
	Silent Answer = iota // the configuration decides
	Yes                  // zram0 is wanted even without a configuration
	No                   // there are to be no devices
)

// WantedBy reads systemd.zram from the kernel's command line. The error is one of a value that is
// neither true nor false; it counts as silence.
func WantedBy(root host.Root) (a Answer, err error) {
	line, _ := root.Read("proc/cmdline") // where proc is missing there is none
	for word := range strings.FieldsSeq(line) {
		name, value, has := strings.Cut(word, "=")
		if name != parameter {
			continue
		}
		switch strings.ToLower(value) {
		case "1", "y", "yes", "t", "true", "on":
			a, err = Yes, nil
		case "0", "n", "no", "f", "false", "off":
			a, err = No, nil
		default:
			if a, err = Yes, nil; has {
				a, err = Silent, fmt.Errorf("the kernel's command line has %s: neither yes nor no", word)
			}
		}
	}
	return a, err
}

// HasZramGenerator reports whether zram-generator is installed.
func HasZramGenerator(root host.Root) bool {
	_, err := os.Stat(root.Path("usr/lib/systemd/system-generators/zram-generator"))
	return err == nil
}

// Container returns the name of the container manager that systemd runs under, as
// systemd-detect-virt --container does; empty for none. WSL counts as none: swap there is the
// virtual machine's own. env reads the environment of a generator.
func Container(root host.Root, env func(string) string) string {
	kind, name, known := strings.Cut(env("SYSTEMD_VIRTUALIZATION"), ":")
	if !known { // systemd before 251
		kind = "container"
		for _, file := range []string{"run/systemd/container", "run/host/container-manager"} {
			if text, err := root.Read(file); err == nil && name == "" {
				name = text
			}
		}
	}
	if kind != "container" || name == "wsl" {
		return ""
	}
	return name
}
