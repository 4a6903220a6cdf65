// SPDX-License-Identifier: Apache-2.0

package daemon

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

	"github.com/zramfs/zramfs/fusefs"
)

const (
	// upgradeTime bounds an upgrade: a worker that prepares itself, the end of another, and two waits
	// until one serves.
	upgradeTime = 4 * workerPatience
	// answerTime bounds the wait for what a keeper can say at once, and for what a command has to say
	// to it.
	answerTime = 10 * time.Second
	// maxRequest bounds a request, which is read before its sender is known to be allowed it.
	maxRequest = 64 << 10
	// maxAttended is how many commands a keeper attends at a time.
	maxAttended = 16
)

// listen takes requests of the commands upgrade, verify and export. A device without it works.
func (k *keeper) listen() {
	sweepSockets(controlDirs())
	l, unguarded, err := listenAt(controlDirs(), socketName(k.cfg.Dir, k.mount))
	if err == nil {
		k.undo = append(k.undo, func() error { sweepSockets(controlDirs()); return nil }, l.Close) // the worker may have been killed
		go serveSocket(l, k.attend)
		err = unguarded
	}
	if err != nil {
		k.protections = append(k.protections, Protection{Name: ProtectControl, State: StateWarn, Detail: controlDetail(l != nil, err)})
	}
}

// controlDetail says what follows where the sockets lie in no directory of their own.
func controlDetail(abstract bool, why error) string {
	what := "upgrade, verify, export and import are not possible"
	if abstract {
		what = "any local user can keep upgrade, verify, export and import from working"
	}
	return fmt.Sprintf("%s: no directory for the sockets: %v", what, why)
}

// serveSocket attends each connection by itself until the socket is closed.
func serveSocket(l *socket, attend func(*net.UnixConn)) {
	var all sync.WaitGroup
	defer all.Wait()
	for room := make(chan struct{}, maxAttended); ; {
		room <- struct{}{}
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor is free; the next may find one
			<-room
			time.Sleep(lookPause)
			continue
		}
		all.Go(func() {
			attend(c)
			_ = c.Close() // the other end has gone, or has the answer
			<-room
		})
	}
}

// attend answers one request.
func (k *keeper) attend(c *net.UnixConn) {
	if err := c.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return
	}
	var asked controlRequest
	if err := json.NewDecoder(io.LimitReader(c, maxRequest)).Decode(&asked); err != nil {
		return
	}
	if err := admit(c, k.mount); err != nil {
		answer(c, imageAnswer{Image: true, Error: err.Error()}) // an UpgradeReport as well
		return
	}
	switch {
	case asked.Image:
		k.handOutImage(c, asked.Dictionary)
	case asked.Hello:
		answer(c, struct{}{})
	default:
		if err := c.SetDeadline(time.Now().Add(upgradeTime)); err == nil {
			answer(c, k.upgrade(asked.Binary))
		}
	}
}

// A controlRequest is what is asked of a keeper: its image, or an upgrade.
type controlRequest struct {
	// Binary is the program to go on with, an absolute path.
	Binary string `json:"binary,omitempty"`
	// Hello asks for any answer.
	Hello bool `json:"hello,omitempty"`
	// Image asks for the descriptor of the image, see [OpenImage].
	Image bool `json:"image,omitempty"`
	// Dictionary asks for the dictionary's as well, if there is one. Who does not know of it expects
	// one descriptor.
	Dictionary bool `json:"dictionary,omitempty"`
}

// answer answers a command, which may have ended meanwhile.
func answer(c *net.UnixConn, report any) { _ = json.NewEncoder(c).Encode(report) }

// ErrNoKeeper is returned when no keeper of a device answers.
var ErrNoKeeper = errors.New("the keeper of the device does not answer")

// Upgrade asks the keeper of the device at dir to go on with workers of the program binary, an
// absolute path.
func Upgrade(dir, binary string) (UpgradeReport, error) {
	var r UpgradeReport
	var any struct{}
	if err := askFor(dir, controlRequest{Hello: true}, answerTime, &any); err != nil {
		return r, err
	}
	if err := askFor(dir, controlRequest{Binary: binary}, upgradeTime, &r); err != nil {
		return r, err
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// askFor asks the keeper of the device at dir and reads its answer, which is JSON.
func askFor(dir string, r controlRequest, limit time.Duration, what any) (err error) {
	c, err := ask(dir, r, limit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return explainSilence(c, limit, json.NewDecoder(c).Decode(what))
}

// ask sends the keeper of the device at dir a request. The caller closes the connection, on which
// the answer comes within the limit.
func ask(dir string, r controlRequest, limit time.Duration) (*net.UnixConn, error) {
	mount, err := fusefs.MountNumber(dir)
	if err != nil {
		return nil, err
	}
	c, err := dial(controlDirs(), socketName(dir, mount))
	if errors.Is(err, errForbidden) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoKeeper, err)
	}
	err = c.SetDeadline(time.Now().Add(limit))
	if err == nil {
		err = json.NewEncoder(c).Encode(r)
	}
	if errors.Is(err, unix.EPIPE) { // it has answered already, as keepers did that sent others away
		err = nil
	}
	if err != nil {
		return nil, errors.Join(explainSilence(c, limit, err), c.Close())
	}
	return c, nil
}

// explainSilence says who has not answered.
func explainSilence(c *net.UnixConn, limit time.Duration, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrNoKeeper, err)
	}
	who := "zramfs"
	if peer, err := peerOf(c); err == nil && peer.Pid != 0 {
		who = fmt.Sprintf("zramfs (PID %d)", peer.Pid)
	}
	return &silence{fmt.Sprintf("%s did not answer within %v", who, limit)}
}

// A silence is an ErrNoKeeper that says who it is.
type silence struct{ text string }

func (s *silence) Error() string        { return s.text }
func (s *silence) Is(target error) bool { return target == ErrNoKeeper }
