// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// Counters are those of a device, as package telemetry has them, mapped for reading. They stay
// readable when the device has ended.
type Counters struct {
	Area  *telemetry.Area // until Close
	mem   []byte
	dir   string
	mount int
}

// Alive reports whether the device is still mounted here. It sends no request.
func (c *Counters) Alive() bool {
	now, err := fusefs.MountNumber(c.dir)
	return err == nil && now == c.mount
}

// Close unmaps the counters.
func (c *Counters) Close() error { return unix.Munmap(c.mem) }

// countersAnswer goes with a descriptor of the file in which the counters are, or says why there is
// none.
type countersAnswer struct {
	Error string `json:"error,omitempty"`
	At    int64  `json:"at"` // where they begin in the file
}

// OpenCounters asks the keeper of the device at dir for its counters. Root may do that, and the
// user who mounted the device.
func OpenCounters(dir string) (*Counters, error) { return OpenCountersWithin(answerTime, dir) }

// OpenCountersWithin is OpenCounters with another time limit, for a caller whom others wait for.
func OpenCountersWithin(limit time.Duration, dir string) (_ *Counters, err error) {
	mount, err := fusefs.MountNumber(dir)
	if err != nil {
		return nil, err
	}
	c, err := ask(dir, request{Counters: true}, limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var a countersAnswer
	files, err := readAnswer(c, &a, "counters")
	if err != nil {
		return nil, errors.Join(explainSilence(c, limit, err), closeAll(files))
	}
	switch {
	case a.Error != "":
		return nil, errors.Join(errors.New(a.Error), closeAll(files))
	case len(files) == 0:
		return nil, fmt.Errorf("%w: the counters were not sent", ErrNoKeeper)
	}
	counters, err := mapCounters(files[0], a.At)
	if counters != nil {
		counters.dir, counters.mount = dir, mount
	}
	return counters, errors.Join(err, closeAll(files))
}

// mapCounters maps the part of a file from at on, and nothing before it: requests are there.
func mapCounters(f *os.File, at int64) (*Counters, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at the counters: %w", err)
	}
	size := info.Size() - at
	if at < 0 || size <= 0 {
		return nil, telemetry.ErrLayout
	}
	mem, err := unix.Mmap(int(f.Fd()), at, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the counters: %w", err)
	}
	area, err := telemetry.Open(mem)
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(mem))
	}
	return &Counters{Area: area, mem: mem}, nil
}

// readAnswer reads an answer and the files that came with it. The caller closes them, also after an
// error.
func readAnswer(c *net.UnixConn, a any, names ...string) (files []*os.File, err error) {
	text, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(len(names)*4))
	n, oobn, _, _, err := c.ReadMsgUnix(text, rights)
	if err != nil {
		return nil, err
	}
	if files, err = sentFiles(rights[:oobn], names...); err != nil {
		return files, err
	}
	return files, json.NewDecoder(io.MultiReader(bytes.NewReader(text[:n]), c)).Decode(a)
}

// sendCounters sends a read-only descriptor of the file with the counters.
func (k Keeper) sendCounters(c *net.UnixConn) {
	var a countersAnswer
	var rights []byte
	f, at := k.Counters()
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		a.Error = "open the counters again: " + err.Error()
	} else {
		a.At, rights = at, unix.UnixRights(int(again.Fd()))
		defer func() { _ = again.Close() }() // the command has its own
	}
	text, err := json.Marshal(a)
	if err != nil {
		return
	}
	_, _, _ = c.WriteMsgUnix(text, rights, nil) // the command may have ended
}
