// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// A serveConfig is what a test tells the process that serves.
type serveConfig struct {
	Dir        string
	Disksize   uint64
	Algorithm  string
	MemLimit   uint64
	AllowOther bool
}

// A serveState is what that process answers to a command.
type serveState struct {
	Error    string // of the command
	Opens    int
	Settings Negotiated
	Mallocs  uint64 // objects allocated since the start
	Bytes    uint64 // and their bytes
	Logs     []string
}

// The commands, one a line on standard input. Its end makes the server go, so
// that it does not outlive a test that was killed.
const (
	commandState   = "state"
	commandPanic   = "panic" // from now on, at each open of control/status
	commandUnmount = "unmount"
	commandAbandon = "abandon"
	commandForce   = "force"
)

// serve is the serving process: the device, and its commands.
func serve(text string) (err error) {
	var config serveConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	debug.SetGCPercent(-1) // as the daemon has it
	runtime.GOMAXPROCS(Processors())
	algorithm, err := codec.Parse(config.Algorithm)
	if err != nil {
		return err
	}
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	s, err := store.Create(memory, store.Config{Disksize: config.Disksize, Algorithm: algorithm, MemLimit: config.MemLimit})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, checked(s), s.Close()) }()
	var logs logBook
	var panics atomic.Bool
	d, err := makeServed(config, Config{
		Store: s, Algorithm: algorithm, Logf: logs.add,
		Status: func([]string) ([]byte, error) {
			if panics.Load() {
				panic("as the test asked")
			}
			return []byte("{}\n"), nil
		},
	})
	if err != nil {
		return err
	}
	failed := attend(d, &logs, &panics)
	return errors.Join(failed, d.server.Close(), d.session.Close())
}

// served is a device whose keeper and server are one process, which is good
// enough for tests that kill nothing.
type served struct {
	session *Session
	server  *Server
}

func makeServed(config serveConfig, cfg Config) (served, error) {
	session, err := NewSession(config.Dir, config.AllowOther, nil)
	if err != nil {
		return served{}, err
	}
	server, err := NewServer(session.Files(), cfg)
	if err != nil {
		return served{}, errors.Join(err, session.Close())
	}
	if err := server.Start(); err != nil {
		return served{}, errors.Join(err, session.Close())
	}
	return served{session, server}, session.Attach()
}

// checked walks the store once it is idle.
func checked(s *store.Store) error {
	var found error
	s.Check(func(err error) { found = errors.Join(found, err) })
	return found
}

// attend carries commands out until there are no more, and unmounts then.
func attend(d served, logs *logBook, panics *atomic.Bool) error {
	answer := json.NewEncoder(os.Stdout)
	reply := func(err error) error {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		state := serveState{
			Opens: d.session.OpenCount(), Settings: d.server.Negotiated(),
			Mallocs: m.Mallocs, Bytes: m.TotalAlloc, Logs: logs.all(),
		}
		if err != nil {
			state.Error = err.Error()
		}
		return answer.Encode(state)
	}
	failed := reply(nil) // ready
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		var err error
		switch commands.Text() {
		case commandPanic:
			panics.Store(true)
		case commandUnmount:
			err = d.session.Unmount()
		case commandAbandon:
			return errors.Join(failed, reply(abandon(d)))
		case commandForce:
			return errors.Join(failed, reply(force(d)))
		}
		failed = errors.Join(failed, reply(err))
	}
	if err := d.session.Unmount(); err != nil {
		failed = errors.Join(failed, err, d.session.detach())
	}
	return failed
}

// A logBook keeps what was logged.
type logBook struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (l *logBook) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *logBook) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}
