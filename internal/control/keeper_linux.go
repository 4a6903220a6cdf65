// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
)

const (
	// UpgradeTime bounds an upgrade.
	UpgradeTime = 100 * time.Second
	// answerTime bounds the wait for an answer that a keeper has at hand, and for a request.
	answerTime = 10 * time.Second
	// maxRequest bounds a request, which is read before its sender is checked, in bytes.
	maxRequest = 64 << 10
	// maxConnections bounds the connections that a keeper or worker attends at a time.
	maxConnections = 16
	// acceptPause follows a failure to accept a connection, as when no descriptor is free.
	acceptPause = 200 * time.Millisecond
)

// Keeper is what a keeper shows to commands. Its functions are called from several goroutines.
type Keeper struct {
	// Dir is the mount point of the device, Mount the number of its mount.
	Dir   string
	Mount int
	// Algorithm is the device's.
	Algorithm codec.Algorithm
	// Image returns the file of the image, nil where the build has none.
	Image func() *os.File
	// Counters returns the file with the counters, and where they begin in it.
	Counters func() (f *os.File, at int64)
	// Upgrade goes on with workers of the program at a path.
	Upgrade func(binary string) UpgradeReport
	// Warn logs a line.
	Warn func(text string)
}

// UpgradeReport is how an upgrade went.
type UpgradeReport struct {
	// Error says why nothing has changed; it is empty after success.
	Error string `json:"error,omitempty"`
	// WorkerPID serves now, OldPID did before; 0 where none was alive.
	WorkerPID int `json:"worker_pid"`
	OldPID    int `json:"old_pid"`
	// WithoutService is the time in which no process answered requests.
	WithoutService time.Duration `json:"without_service"`
}

// request is what a command sends to a keeper. One without a field that is set asks for any answer.
type request struct {
	// Binary is the program for the next worker, an absolute path.
	Binary string `json:"binary,omitempty"`
	// Counters asks for the counters, see [OpenCounters].
	Counters bool `json:"counters,omitempty"`
	// Image asks for the descriptors of the image and of its dictionary, see [OpenImage].
	Image bool `json:"image,omitempty"`
}

// imageAnswer goes with the descriptor of an image, or says why there is none.
type imageAnswer struct {
	// Error says why there is no descriptor.
	Error string `json:"error,omitempty"`
	// Algorithm is the device's, as codec.Parse reads it.
	Algorithm string `json:"algorithm"`
	// Dictionary means that the second descriptor is that of the device's dictionary.
	Dictionary bool `json:"dictionary,omitempty"`
}

// A Listener attends the commands that talk to a keeper.
type Listener struct{ socket *socket }

// Listen attends commands for k until the listener is closed. Where the socket could not be made in
// a directory that only k's user can enter, unguarded says why: any local user can reach it then,
// and is refused.
func Listen(k Keeper) (l *Listener, unguarded, err error) {
	Sweep()
	s, unguarded, err := listenAt(socketDirs(), socketName(k.Dir, k.Mount))
	if err != nil {
		return nil, nil, err
	}
	go serve(s, refuse, k.attend)
	return &Listener{s}, unguarded, nil
}

// Close ends the listener, but no request under way.
func (l *Listener) Close() error {
	err := l.socket.Close()
	Sweep() // the worker may have been killed
	return err
}

// Sweep removes the names of sockets that killed processes have left.
func Sweep() { sweepSockets(socketDirs()) }

// refuse tells a command that it may ask for nothing: all answers have an error of that name.
func refuse(c *net.UnixConn, why error) { answer(c, imageAnswer{Error: why.Error()}) }

// serve attends each connection in a goroutine of its own until the socket is closed. It refuses
// those of other users at once, so that they keep no place.
func serve(l *socket, refuse func(*net.UnixConn, error), attend func(*net.UnixConn)) {
	var all sync.WaitGroup
	defer all.Wait()
	for room := make(chan struct{}, maxConnections); ; {
		room <- struct{}{}
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor is free
			<-room
			time.Sleep(acceptPause)
			continue
		}
		if err := admit(c, 0); err != nil {
			refuse(c, err)
			_ = c.Close() // the command has its answer
			<-room
			continue
		}
		all.Go(func() {
			attend(c)
			_ = c.Close() // the command has its answer, or has ended
			<-room
		})
	}
}

// attend answers one request.
func (k Keeper) attend(c *net.UnixConn) {
	if err := c.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return
	}
	var asked request
	if err := json.NewDecoder(io.LimitReader(c, maxRequest)).Decode(&asked); err != nil {
		return
	}
	if err := admit(c, k.Mount); err != nil {
		refuse(c, err)
		return
	}
	switch {
	case asked.Image:
		k.sendImage(c)
	case asked.Counters:
		k.sendCounters(c)
	case asked.Binary != "":
		if err := c.SetDeadline(time.Now().Add(UpgradeTime)); err == nil {
			answer(c, k.Upgrade(asked.Binary))
		}
	default:
		answer(c, struct{}{})
	}
}

// answer answers a command, which may have ended.
func answer(c *net.UnixConn, report any) { _ = json.NewEncoder(c).Encode(report) }

// sendImage sends a read-only descriptor of the image and, if there is one, a descriptor of the
// dictionary. When the dictionary cannot be sent the image is not either: the
// command would read it with whatever the dictionary's file holds by now.
func (k Keeper) sendImage(c *net.UnixConn) {
	a := imageAnswer{Algorithm: k.Algorithm.String()}
	var fds []int
	if f := k.Image(); f == nil {
		a.Error = "the image of this build lies in no file"
	} else if again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil {
		a.Error = "open the image again: " + err.Error()
	} else {
		fds = append(fds, int(again.Fd()))
		defer func() { _ = again.Close() }() // the command has its own
	}
	if len(fds) > 0 {
		dictionary, err := DictionaryFile(k.Algorithm)
		if err != nil {
			a.Error, fds = "hand the dictionary out: "+err.Error(), nil
			k.Warn(a.Error)
		} else if dictionary != nil {
			fds, a.Dictionary = append(fds, int(dictionary.Fd())), true
			defer func() { _ = dictionary.Close() }() // the command has its own
		}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, _ = c.WriteMsgUnix(text, rights, nil) // the command may have ended
}
