// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// exitMeaning is what a code means that a command ends with. A code of 0 or more stands for itself.
type exitMeaning struct {
	code    int
	meaning string
}

// Codes that are no constants of their own: those of the command that exec runs.
const (
	exitNotExecuted = 126
	exitNoCommand   = 127
)

// commonCodes are the codes of every command that has no meaning of its own for them.
var commonCodes = []exitMeaning{
	{exitOK, "done, or it was so already"},
	{exitFailure, "failure, with a line on standard error"},
	{exitUsage, "wrong call: nothing was done"},
}

// ownCodes are the codes with another meaning, by command. The help and docs/exit-codes.md have
// them from here.
var ownCodes = map[string][]exitMeaning{
	"up":         {{exitOK, "swap is on"}, {exitFailure, "failure: everything was undone; or it is up already with other values, or without some of its areas; or its configuration has an error; with --all: of one device or more"}, {exitKubelet, "a kubelet of this machine would not start again with swap on: nothing was changed"}},
	configName:   {{exitOK, "the configuration has no errors"}, {exitFailure, "it has errors, which are on standard output; or it cannot be read"}},
	"down":       {{exitOK, "swap is off, or it was not on"}, {exitFailure, "failure, or what is in swap does not fit: swap stays on; or DIR has no device while others run"}},
	"status":     {{exitOK, "every device is healthy"}, {exitFailure, "a device is degraded, or devices cannot be looked for"}, {exitUnknown, "wrong call: nothing was done; with --quiet also: no device is running, or devices cannot be looked for"}, {exitNotRunning, "no device is running"}},
	"list":       {{exitFailure, "failure, no such device or column, or a device that does not answer"}},
	"top":        {{exitOK, "ended by q or by a signal"}, {exitNotRunning, "no device is running"}},
	"recompress": {{exitFailure, "failure: no device, no recomp-algorithm, or another recompression is under way; or interrupted, while the device goes on"}},
	"snapshot":   {{exitFailure, "failure; inspect: FILE is damaged, or failure"}},
	"verify":     {{exitOK, "no page is damaged"}, {exitFailure, "a page is damaged, or failure"}},
	"doctor": {{exitOK, "up would work here"},
		{exitFailure, "a line says fail: up would not work"}},
	nodeName: {{exitOK, "done, or run, serve or limited-swap ended by a signal; other codes of a command of zramfs on the node are passed on"},
		{exitNoCommand, "the node has no zramfs"}},
	execName: {{exitOK, "COMMAND ended with 0; its other codes are passed on, and 128 and the number of a signal that ended it"},
		{exitNotExecuted, "COMMAND cannot be executed"}, {exitNoCommand, "there is no such COMMAND"}},
}

// exitCodesOf returns all codes of a command, the lowest first.
func exitCodesOf(name string) []exitMeaning {
	all := slices.Clone(ownCodes[name])
	for _, common := range commonCodes {
		if !slices.ContainsFunc(all, func(e exitMeaning) bool { return e.code == common.code }) {
			all = append(all, common)
		}
	}
	slices.SortFunc(all, func(a, b exitMeaning) int { return cmp.Compare(a.code, b.code) })
	return all
}

// exitHelp lists the codes of a command for its help.
func exitHelp(name string) string {
	var out strings.Builder
	out.WriteString("\n\nExit codes:")
	for _, e := range exitCodesOf(name) {
		fmt.Fprintf(&out, "\n%3d  %s", e.code, e.meaning)
	}
	return out.String()
}
