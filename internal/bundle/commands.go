// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// traceLines is the number of operations that the bundle has of each device.
const traceLines = 2000

// commands adds the JSON of our own commands. Each runs as a process, so that one that hangs can be
// ended.
func (c *collector) commands() {
	c.run("version.json", "zramfs version -J: the build", "version", "-J")
	status := c.run("status.json", "zramfs status -J: devices, their problems and counters", "status", "-J")
	c.run("list.json", "zramfs list -J --output-all", "list", "-J", "--output-all")
	c.run("doctor.json", "zramfs doctor -J: what the machine lacks", "doctor", "-J")
	var found struct {
		Devices []struct{ Dir string } `json:"zramfs"`
	}
	if len(status) == 0 {
		return
	}
	if err := json.Unmarshal(status, &found); err != nil {
		c.problem("status.json", err)
		return
	}
	for i, d := range found.Devices {
		if d.Dir == "" {
			continue
		}
		at := fmt.Sprintf("devices/%d/", i)
		c.run(at+"events.json", "zramfs events -J "+d.Dir, "events", "-J", d.Dir)
		c.run(at+"trace.json", "zramfs trace -J "+d.Dir+": the last operations, without their data",
			"trace", "-J", "-n", strconv.Itoa(traceLines), d.Dir)
	}
}

// run adds the JSON that a command of ours prints, and returns it. A command may fail after that,
// as status does for a degraded device. Its text on standard error becomes a problem.
func (c *collector) run(name, about string, args ...string) []byte {
	return c.take(name, about, commandTime, func(ctx context.Context) ([]byte, error) {
		var out, messages bytes.Buffer
		cmd := exec.CommandContext(ctx, c.Program, args...)
		cmd.Args[0] = "zramfs" // the program is another under the name zramctl
		cmd.Stdout, cmd.Stderr = &out, &messages
		err := cmd.Run()
		if text := strings.TrimSpace(messages.String()); text != "" {
			err = errors.New(text)
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !json.Valid(out.Bytes()):
			return nil, errors.Join(errors.New("zramfs "+args[0]+" printed no JSON"), err)
		case messages.Len() == 0:
			return out.Bytes(), nil
		}
		return out.Bytes(), err
	})
}
