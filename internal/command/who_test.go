// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

// The table of processes, with the total of all where only the first are shown.
func TestWho(t *testing.T) {
	all := []host.Swapped{{PID: 8121, Name: "firefox", Bytes: 1100 << 20, Group: "/user.slice"}, {PID: 93, Name: "java", Bytes: 640 << 20}}
	for _, test := range []struct {
		r                 whoReport
		bytes, noHeadings bool
		want              string
	}{
		{newWhoReport(all, 0), false, false, " PID IN-SWAP COMMAND CGROUP\n8121    1.1G firefox /user.slice\n  93    640M java    \n1.7G in swap of 2 processes\n"},
		{newWhoReport(all, 1), true, false, " PID    IN-SWAP COMMAND CGROUP\n8121 1153433600 firefox /user.slice\n1824522240 in swap of 2 processes\n"},
		{newWhoReport(all[:1], 0), false, true, "8121    1.1G firefox /user.slice\n"},
		{newWhoReport(nil, 0), false, false, "no process has memory in swap\n"},
		{newWhoReport(nil, 0), false, true, ""},
	} {
		if got := test.r.text(test.bytes, test.noHeadings); got != test.want {
			t.Errorf("it prints\n%s\nwant\n%s", got, test.want)
		}
	}
}

func TestWhoJSON(t *testing.T) {
	got := runProgram(t, "who", "-J", "--lines", "1")
	var r struct {
		Schema int
		Who    whoReport
	}
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != 0 || r.Schema != jsonSchema || len(r.Who.Processes) != min(r.Who.Count, 1) {
		t.Errorf("%+v: %v", got, err)
	}
	for _, args := range []string{"who 7", "who --lines 0"} {
		if got := runProgram(t, strings.Fields(args)...); got.code != exitUsage {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
