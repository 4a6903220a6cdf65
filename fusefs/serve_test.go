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

	"zramfs/codec"
	"zramfs/store"
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
	Settings Settings
	Mallocs  uint64 // objects allocated since the start
	Bytes    uint64 // and their bytes
	Logs     []string
}

// The commands, one a line on standard input. Its end makes the server go, so
// that it does not outlive a test that was killed.
const (
	commandState   = "state"
	commandPanic   = "panic" // from now on, whoever opens control/status
	commandUnmount = "unmount"
)

// serve is the serving process: the device, and who watches it.
func serve(text string) (err error) {
	var config serveConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	debug.SetGCPercent(-1) // as the daemon has it
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
	server, err := Mount(Config{
		Dir: config.Dir, Store: s, Algorithm: algorithm, AllowOther: config.AllowOther, Logf: logs.add,
		Status: func() ([]byte, error) {
			if panics.Load() {
				panic("as the test asked")
			}
			return []byte("{}\n"), nil
		},
	})
	if err != nil {
		return err
	}
	attended := make(chan error)
	go func() { attended <- attend(server, &logs, &panics) }()
	server.Serve()
	return <-attended
}

// checked walks the store once nobody uses it any more.
func checked(s *store.Store) error {
	var found error
	s.Check(func(err error) { found = errors.Join(found, err) })
	return found
}

// attend carries commands out until there are no more, and unmounts then.
func attend(server *Server, logs *logBook, panics *atomic.Bool) error {
	answer := json.NewEncoder(os.Stdout)
	reply := func(err error) error {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		state := serveState{
			Opens: server.OpenCount(), Settings: server.Settings(),
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
			err = server.Unmount()
		}
		failed = errors.Join(failed, reply(err))
	}
	if err := server.Unmount(); err != nil {
		failed = errors.Join(failed, err, detach(server.Dir()))
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
