// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// An Image is the image of a device, and what is needed to read it.
type Image struct {
	// File is the image, open for reading only; see view.Open. While it is open the memory of
	// the device stays allocated.
	File *os.File
	// Algorithm is the device's, as codec.Parse reads it.
	Algorithm string
	// Dictionary is the content of the dictionary that Algorithm names, as it was when the device
	// was made. It is nil where Algorithm names none.
	Dictionary []byte
}

// OpenImage asks the keeper of the device at dir for its image. Root may do that, and the user who
// mounted the device. The image holds secrets of other processes, so OpenImage turns core dumps of
// the process off.
func OpenImage(dir string) (_ Image, err error) {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return Image{}, fmt.Errorf("turn core dumps off: %w", err)
	}
	c, err := ask(dir, request{Image: true}, answerTime)
	if err != nil {
		return Image{}, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var a imageAnswer
	files, err := readAnswer(c, &a, "image", "dictionary")
	if err != nil {
		return Image{}, errors.Join(explainSilence(c, answerTime, err), closeAll(files))
	}
	switch {
	case a.Error != "":
		return Image{}, errors.Join(errors.New(a.Error), closeAll(files))
	case len(files) == 0:
		return Image{}, fmt.Errorf("%w: the image was not sent", ErrNoKeeper)
	case !a.Dictionary:
		return Image{File: files[0], Algorithm: a.Algorithm}, closeAll(files[1:])
	case len(files) < 2:
		return Image{}, errors.Join(fmt.Errorf("%w: the dictionary was not sent", ErrNoKeeper), closeAll(files))
	}
	dictionary, err := ReadDictionary(files[1])
	if err = errors.Join(err, closeAll(files[1:])); err != nil {
		return Image{}, errors.Join(err, files[0].Close())
	}
	return Image{File: files[0], Algorithm: a.Algorithm, Dictionary: dictionary}, nil
}

// DeviceDictionary asks the keeper of the device at dir for its dictionary, as OpenImage does. It
// is nil where Image.Dictionary would be.
func DeviceDictionary(dir string) ([]byte, error) {
	image, err := OpenImage(dir)
	if err != nil {
		return nil, err
	}
	return image.Dictionary, image.File.Close()
}

// closeAll closes files.
func closeAll(files []*os.File) error {
	var all []error
	for _, f := range files {
		all = append(all, f.Close())
	}
	return errors.Join(all...)
}

// sentFiles returns the files that came with a message, at most one for each name.
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
