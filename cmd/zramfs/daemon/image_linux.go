// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// imageAnswer goes with the descriptor of an image, or says why there is none.
type imageAnswer struct {
	// Image is true: a keeper that does not know the request says nothing of it.
	Image bool `json:"image"`
	// Error says why there is no descriptor.
	Error string `json:"error,omitempty"`
	// Algorithm is the device's, as codec.Parse reads it.
	Algorithm string `json:"algorithm"`
}

// errOldKeeper means that the keeper is of a version without images to hand out. An upgrade replaces the worker only.
var errOldKeeper = errors.New("the device was made by a version of zramfs that does not hand its image out")

// handOutImage gives whoever asked a descriptor of the image that is open for reading only, and so cannot change it.
func (k *keeper) handOutImage(c *net.UnixConn) {
	a := imageAnswer{Image: true, Algorithm: k.cfg.Algorithm.String()}
	var rights []byte
	if f := k.memory.File(); f == nil {
		a.Error = "the image of this build lies in no file"
	} else if again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil {
		a.Error = "open the image again: " + err.Error()
	} else {
		rights = unix.UnixRights(int(again.Fd()))
		defer func() { _ = again.Close() }() // whoever asked has its own
	}
	text, err := json.Marshal(a)
	if err != nil {
		return
	}
	_, _, _ = c.WriteMsgUnix(text, rights, nil) // nobody may be listening any more
}

// An Image is what a keeper hands out.
type Image struct {
	// File is the image, open for reading only; see store.OpenView. While it is open, the memory of the device is not freed.
	File *os.File
	// Algorithm is the device's, as codec.Parse reads it.
	Algorithm string
}

// OpenImage asks the keeper of the device at dir for its image. Root may do that, and who mounted the device. What other processes keep secret lies in
// there, so this one dumps no core from then on.
func OpenImage(dir string) (_ Image, err error) {
	_ = forbidCore() // where that is not allowed there is none to be expected
	c, err := ask(dir, controlRequest{Image: true})
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	text, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := c.ReadMsgUnix(text, rights)
	if err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoKeeper, err)
	}
	f, err := sentFile(rights[:oobn], "image")
	if err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoKeeper, err)
	}
	var a imageAnswer
	switch err := json.NewDecoder(io.MultiReader(bytes.NewReader(text[:n]), c)).Decode(&a); {
	case err != nil:
		return Image{}, errors.Join(fmt.Errorf("%w: %w", ErrNoKeeper, err), closeSent(f))
	case f == nil && !a.Image:
		return Image{}, errOldKeeper
	case f == nil:
		return Image{}, errors.New(a.Error)
	}
	return Image{File: f, Algorithm: a.Algorithm}, nil
}

// closeSent closes a file that came, if any did.
func closeSent(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// sentFile is the one file that came with a message; nil if none did.
func sentFile(rights []byte, name string) (*os.File, error) {
	if len(rights) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, fmt.Errorf("%d control messages came with the answer, want 1", len(messages))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	if len(fds) != 1 {
		return nil, fmt.Errorf("%d descriptors came with the answer, want 1", len(fds))
	}
	return os.NewFile(uintptr(fds[0]), name), nil
}
