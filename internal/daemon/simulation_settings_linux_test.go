// SPDX-License-Identifier: Apache-2.0

//go:build simulation

package daemon

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/simkernel"
	"github.com/zramfs/zramfs/store"
)

// An administrator sets attributes of the device one after the other, and reads them: each has what
// the last answered write gave it, whatever process has carried out which request.
type administrator struct {
	m     *machine
	nodes map[string]uint64   // of attributes, by name
	may   map[string][]string // what an attribute may say; several where a write was given up
}

// administer is the administrator's task.
func (m *machine) administer() {
	a := &administrator{m: m, nodes: map[string]uint64{}, may: map[string][]string{}}
	m.settings = a
	rng := m.w.Random()
	for next := m.ops; !m.ending; {
		next += int(spread(rng, 600))
		simkernel.UntilOr(func() bool { return m.ops >= next || m.ending }, time.Duration(spread(rng, 3600))*time.Second)
		for name := a.draw(); ; {
			a.set(name, a.text(name))
			if rng.IntN(2) == 0 {
				break
			}
		}
		if m.serving && !m.interfered && rng.IntN(4) == 0 { // a worker may not be done with what it has answered
			for _, v := range m.workers {
				v.process.KillIn(spread(rng, 500))
			}
		}
		a.compare()
	}
	m.users--
}

// draw draws an attribute.
func (a *administrator) draw() string {
	names := []string{"compact", "idle", "recomp_algorithm", "comp_algorithm", "comp_algorithm", "mem_limit"}
	if a.m.plan.limit == 0 {
		names = names[:len(names)-1]
	}
	return names[a.m.w.Random().IntN(len(names))]
}

// text draws what to write to an attribute.
func (a *administrator) text(name string) string {
	rng := a.m.w.Random()
	algorithm := a.m.plan.others[rng.IntN(len(a.m.plan.others))].String()
	switch name {
	case "compact":
		return "1"
	case "idle":
		return "all"
	case "recomp_algorithm":
		return "algo=" + algorithm + " priority=1"
	case "mem_limit":
		return strconv.FormatUint(a.m.plan.limit*(2+rng.Uint64N(4))/4&^(store.PageSize-1), 10)
	}
	return algorithm
}

// set writes an attribute.
func (a *administrator) set(name, text string) {
	m := a.m
	m.script.note("set %s to %s", name, text)
	r, givenUp := a.ask(opWrite, a.node(name), transferOf(0, len(text), []byte(text)))
	shown := text
	switch name {
	case "compact", "idle":
		shown = ""
	case "recomp_algorithm":
		shown, _, _ = strings.Cut(strings.TrimPrefix(text, "algo="), " ")
	}
	switch {
	case r.Errno == 0 && shown != "":
		a.may[name] = []string{shown}
	case r.Errno == 0, r.Errno == unix.EAGAIN: // a thread that stands still may be setting another one
	case givenUp && len(a.may[name]) > 0:
		a.may[name] = append(a.may[name], shown)
	case givenUp:
	default:
		m.w.Fail("setting %s to %s fails: %v", name, text, r.Errno)
	}
}

// compare reads the attributes that were set.
func (a *administrator) compare() {
	for _, name := range []string{"comp_algorithm", "mem_limit", "recomp_algorithm"} {
		may := a.may[name]
		text, ok := a.read(name)
		if _, list, found := strings.Cut(text, "["); found {
			text, _, _ = strings.Cut(list, "]")
		}
		if text = strings.TrimSpace(text); ok && len(may) > 0 && !slices.Contains(may, text) {
			a.m.w.Fail("%s is %q, and was set to %q", name, text, may)
		}
	}
}

// read reads an attribute; not where all who tried have died.
func (a *administrator) read(name string) (text string, ok bool) {
	node := a.node(name)
	r, givenUp := a.ask(opOpen, node, make([]byte, 8))
	if !givenUp && (r.Errno != 0 || len(r.Data) < 8) {
		a.m.w.Fail("opening %s is answered by error %d and %x", name, r.Errno, r.Data)
	}
	if givenUp {
		return "", false
	}
	file := r.Data[:8]
	read := transferOf(0, 4096, nil)
	copy(read, file)
	r, givenUp = a.ask(opRead, node, read)
	if !givenUp && r.Errno != 0 {
		a.m.w.Fail("reading %s fails: %v", name, r.Errno)
	}
	release := make([]byte, 24)
	copy(release, file)
	a.ask(opRelease, node, release)
	return string(r.Data), !givenUp
}

// node looks an attribute up.
func (a *administrator) node(name string) uint64 {
	if n := a.nodes[name]; n != 0 {
		return n
	}
	const root = 1
	at := uint64(root)
	for _, part := range []string{"block", "zram0", name} {
		for {
			r, givenUp := a.ask(opLookup, at, append([]byte(part), 0))
			if givenUp {
				continue
			}
			if r.Errno != 0 || len(r.Data) < 8 {
				a.m.w.Fail("looking up %s is answered by error %d and %x", part, r.Errno, r.Data)
			}
			at = binary.LittleEndian.Uint64(r.Data)
			break
		}
	}
	a.nodes[name] = at
	return at
}

func (a *administrator) ask(op uint32, node uint64, argument []byte) (r *simkernel.Request, givenUp bool) {
	return a.m.send(a.m.session.Files().Attributes, op, node, argument)
}
