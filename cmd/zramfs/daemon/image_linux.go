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
	// Dictionary means that a second descriptor is that of the device's dictionary.
	Dictionary bool `json:"dictionary,omitempty"`
}

// errOldKeeper means that the keeper is of a version without images to hand out. An upgrade
// replaces the worker only.
var errOldKeeper = errors.New("the device was made by a version of zramfs that does not hand its image out")

// handOutImage gives whoever asked a descriptor of the image that is open for reading only, and so
// cannot change it, and one of the dictionary if that was asked for and there is one.
func (k *keeper) handOutImage(c *net.UnixConn, withDictionary bool) {
	k.restoreSuperblock()
	a := imageAnswer{Image: true, Algorithm: k.cfg.Algorithm.String()}
	var fds []int
	if f := k.memory.File(); f == nil {
		a.Error = "the image of this build lies in no file"
	} else if again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err != nil {
		a.Error = "open the image again: " + err.Error()
	} else {
		fds = append(fds, int(again.Fd()))
		defer func() { _ = again.Close() }() // whoever asked has its own
	}
	if withDictionary && len(fds) > 0 {
		dictionary, err := dictionaryFile(k.cfg.Algorithm)
		if err != nil { // the image alone would be read with what lies in the dictionary's file by now
			a.Error, fds = "hand the dictionary out: "+err.Error(), nil
			k.logger.Warn(a.Error)
		} else if dictionary != nil {
			fds, a.Dictionary = append(fds, int(dictionary.Fd())), true
			defer func() { _ = dictionary.Close() }() // as above
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
	_, _, _ = c.WriteMsgUnix(text, rights, nil) // nobody may be listening any more
}

// An Image is what a keeper hands out.
type Image struct {
	// File is the image, open for reading only; see view.Open. While it is open, the memory of
	// the device is not freed.
	File *os.File
	// Algorithm is the device's, as codec.Parse reads it.
	Algorithm string
	// Dictionary is what the device has read from the file that Algorithm names. It is nil where that
	// names none, and where the keeper is of a version that does not hand it out.
	Dictionary []byte
}

// OpenImage asks the keeper of the device at dir for its image. Root may do that, and who mounted
// the device. What other processes keep secret lies in there, so this one dumps no core from then
// on.
func OpenImage(dir string) (_ Image, err error) {
	_ = forbidCore() // where that is not allowed there is none to be expected
	c, err := ask(dir, controlRequest{Image: true, Dictionary: true}, answerTime)
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	a, files, err := readImageAnswer(c)
	if err != nil {
		return Image{}, errors.Join(explainSilence(c, answerTime, err), closeAll(files))
	}
	switch {
	case len(files) == 0 && !a.Image:
		return Image{}, errOldKeeper
	case len(files) == 0:
		return Image{}, errors.New(a.Error)
	case !a.Dictionary:
		return Image{File: files[0], Algorithm: a.Algorithm}, closeAll(files[1:])
	case len(files) < 2:
		return Image{}, errors.Join(fmt.Errorf("%w: the dictionary was not sent", ErrNoKeeper), closeAll(files))
	}
	dictionary, err := readDictionary(files[1])
	if err = errors.Join(err, closeAll(files[1:])); err != nil {
		return Image{}, errors.Join(err, files[0].Close())
	}
	return Image{File: files[0], Algorithm: a.Algorithm, Dictionary: dictionary}, nil
}

// DeviceDictionary asks the keeper of the device at dir for its dictionary alone, as OpenImage
// does: Image.Dictionary says when there is none.
func DeviceDictionary(dir string) ([]byte, error) {
	image, err := OpenImage(dir)
	if errors.Is(err, errOldKeeper) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return image.Dictionary, image.File.Close()
}

// readImageAnswer reads what a keeper answers. The files are the caller's to close, also with an
// error.
func readImageAnswer(c *net.UnixConn) (a imageAnswer, files []*os.File, err error) {
	text, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(2*4))
	n, oobn, _, _, err := c.ReadMsgUnix(text, rights)
	if err != nil {
		return a, nil, err
	}
	if files, err = sentFiles(rights[:oobn], "image", "dictionary"); err != nil {
		return a, files, err
	}
	return a, files, json.NewDecoder(io.MultiReader(bytes.NewReader(text[:n]), c)).Decode(&a)
}

// closeAll closes files.
func closeAll(files []*os.File) error {
	var all []error
	for _, f := range files {
		all = append(all, f.Close())
	}
	return errors.Join(all...)
}

// sentFiles are the files that came with a message, at most as many as there are names for them.
func sentFiles(rights []byte, names ...string) ([]*os.File, error) {
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
	var files []*os.File
	for i, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), names[min(i, len(names)-1)]))
	}
	if len(fds) > len(names) {
		return files, fmt.Errorf("%d descriptors came with the answer, want %d at most", len(fds), len(names))
	}
	return files, nil
}
