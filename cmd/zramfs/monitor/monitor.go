// SPDX-License-Identifier: Apache-2.0

// Package monitor hands an order to zramfs-monitor, the program with the HTTP server, the metrics
// library and the live view. They are a program of their own because a device locks all of its
// program in memory: in the same one they would take 7 MiB from every machine that has a device,
// watched or not. The commands metrics, serve, report and top replace their process by it.
package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/figures"
)

// Program is the name of the program, in the same directory as zramfs.
const Program = "zramfs-monitor"

// A Task is what the program is to do.
type Task string

// The tasks.
const (
	Metrics Task = "metrics" // print the exposition once
	Serve   Task = "serve"   // serve dashboard, metrics and health
	Report  Task = "report"  // write the dashboard's figures to a file
	Top     Task = "top"     // show devices live on the terminal
)

// An Order is a task with what the command line said about it. Fields that a task does not need are
// empty.
type Order struct {
	Task      Task          `json:"-"`
	Listen    string        `json:"listen,omitempty"`     // host:port
	TokenFile string        `json:"token_file,omitempty"` // has the bearer token
	TLSCert   string        `json:"tls_cert,omitempty"`   // PEM file
	TLSKey    string        `json:"tls_key,omitempty"`    // PEM file
	History   string        `json:"history,omitempty"`    // file; empty for the default
	Output    string        `json:"output,omitempty"`     // file of the report; empty for standard output
	Screen    *Screen       `json:"screen,omitempty"`     // of Top alone
	Build     figures.Build `json:"build"`
}

// A Screen is what Top shows.
type Screen struct {
	Dirs     []string      `json:"dirs"`     // of the devices; none for all
	Interval time.Duration `json:"interval"` // between two looks
	UTF8     bool          `json:"utf8"`     // the terminal shows it
	Once     bool          `json:"once"`     // one screen as text, of the size below
	Width    int           `json:"width"`
	Height   int           `json:"height"`
}

// ErrUsage is wrapped by errors of a wrong call, for which programs end with exit code 2.
var ErrUsage = errors.New("wrong call")

// A usage error has a text of its own and wraps ErrUsage.
type usage struct{ text string }

func (u usage) Error() string { return u.text }
func (u usage) Unwrap() error { return ErrUsage }

// Usagef returns an error that wraps ErrUsage and does not say so.
func Usagef(format string, args ...any) error { return usage{fmt.Sprintf(format, args...)} }

// Start replaces this process by the program. It returns only if that fails.
func (o Order) Start() error {
	path, err := find()
	if err != nil {
		return err
	}
	text, err := o.text()
	if err != nil {
		return err
	}
	if err := syscall.Exec(path, []string{Program, string(o.Task), text}, os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}

// text returns the order as an argument of the program. JSON would change names that are no UTF-8,
// so each of their bytes becomes a character of its own, and Parse undoes that.
func (o Order) text() (string, error) {
	o = o.withNames(func(name string) string {
		runes := make([]rune, len(name))
		for i := range runes {
			runes[i] = rune(name[i])
		}
		return string(runes)
	})
	text, err := json.Marshal(o)
	return string(text), err
}

// withNames returns the order with all names of files and directories changed.
func (o Order) withNames(change func(string) string) Order {
	for _, name := range []*string{&o.TokenFile, &o.TLSCert, &o.TLSKey, &o.History, &o.Output} {
		*name = change(*name)
	}
	if o.Screen != nil {
		screen := *o.Screen
		screen.Dirs = slices.Clone(screen.Dirs)
		for i, dir := range screen.Dirs {
			screen.Dirs[i] = change(dir)
		}
		o.Screen = &screen
	}
	return o
}

// find returns the path of the program: in this one's directory, else in PATH.
func find() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), Program)
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	path, err := exec.LookPath(Program)
	if err != nil {
		return "", fmt.Errorf("%s is missing, which has metrics, dashboard and live view: install it in the directory of %s (make build makes both)", Program, self)
	}
	return path, nil
}

// Parse returns the order in the program's arguments.
func Parse(args []string) (Order, error) {
	if len(args) != 3 {
		return Order{}, Usagef("%s is started by zramfs: use zramfs metrics, serve, report or top", Program)
	}
	var o Order
	if err := json.Unmarshal([]byte(args[2]), &o); err != nil {
		return Order{}, Usagef("%s is started by zramfs: use zramfs metrics, serve, report or top", Program)
	}
	o.Task = Task(args[1])
	return o.withNames(func(name string) string {
		bytes := make([]byte, 0, len(name))
		for _, r := range name {
			bytes = append(bytes, byte(r))
		}
		return string(bytes)
	}), nil
}
