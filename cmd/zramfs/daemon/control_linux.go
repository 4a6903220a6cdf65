// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"zramfs/fusefs"
)

// controlAddress is where the keeper of the device at dir can be talked to when nobody serves it: an abstract Unix
// socket (unix(7)), which leaves nothing behind. All in one network namespace share these names, containers with mounts of
// their own too, and a mount that is taken out of sight (umount -l) makes room for another at dir. So the number of the
// mount is a part of the name: no other has it while this one is somewhere. It is 0 where nothing of ours is mounted.
func controlAddress(dir string, mount int) *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("@zramfs/%x/%d", sha256.Sum256([]byte(dir)), mount)}
}

// upgradeTime bounds an upgrade: two starts of a worker and the end of one.
const upgradeTime = 3 * workerPatience

// listen takes requests of the commands upgrade, verify and export. A device without it works.
func (k *keeper) listen() {
	l, err := net.ListenUnix("unix", controlAddress(k.cfg.Dir, k.mount))
	if err != nil {
		k.log.Warn("upgrade, verify and export will not be possible: " + err.Error())
		return
	}
	k.undo = append(k.undo, l.Close)
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return // closed
			}
			k.attend(c)
		}
	}()
}

// attend answers one request.
func (k *keeper) attend(c *net.UnixConn) {
	defer func() { _ = c.Close() }() // whoever asked has gone, or has the answer
	if err := c.SetDeadline(time.Now().Add(upgradeTime)); err != nil {
		return
	}
	if err := admit(c, k.mount); err != nil {
		answer(c, imageAnswer{Image: true, Error: err.Error()}) // an UpgradeReport as well
		return
	}
	var asked controlRequest
	if err := json.NewDecoder(c).Decode(&asked); err != nil {
		return
	}
	if asked.Image {
		k.handOutImage(c, asked.Dictionary)
		return
	}
	r := upgradeRequest{Binary: asked.Binary, answer: make(chan UpgradeReport, 1)}
	k.upgrades <- r
	answer(c, <-r.answer)
}

// A controlRequest is what is asked of a keeper: its image, or an upgrade.
type controlRequest struct {
	// Binary is the program to go on with, an absolute path.
	Binary string `json:"binary,omitempty"`
	// Image asks for the descriptor of the image, see [OpenImage].
	Image bool `json:"image,omitempty"`
	// Dictionary asks for the dictionary's as well, if there is one. Who does not know of it expects one descriptor.
	Dictionary bool `json:"dictionary,omitempty"`
}

// answer tells whoever asked, who may not be listening any more.
func answer(c *net.UnixConn, report any) { _ = json.NewEncoder(c).Encode(report) }

// ErrNoKeeper is returned when no keeper of a device answers.
var ErrNoKeeper = errors.New("the keeper of the device does not answer")

// Upgrade asks the keeper of the device at dir to go on with workers of the program binary, an absolute path.
func Upgrade(dir, binary string) (_ UpgradeReport, err error) {
	c, err := ask(dir, controlRequest{Binary: binary})
	if err != nil {
		return UpgradeReport{}, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var r UpgradeReport
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		return UpgradeReport{}, fmt.Errorf("%w: %w", ErrNoKeeper, err)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// ask sends the keeper of the device at dir a request. The caller closes the connection, on which the answer comes.
func ask(dir string, r controlRequest) (*net.UnixConn, error) {
	mount, err := fusefs.MountNumber(dir)
	if err != nil {
		return nil, err
	}
	c, err := dial(controlAddress(dir, mount))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoKeeper, err)
	}
	err = c.SetDeadline(time.Now().Add(upgradeTime))
	if err == nil {
		err = json.NewEncoder(c).Encode(r)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoKeeper, err), c.Close())
	}
	return c, nil
}
