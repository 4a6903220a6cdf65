// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"

	"github.com/zramfs/zramfs/codec/zstd"
)

// The bounds of a dictionary's size in bytes: of one to train, and of any.
const (
	MinDictionary = zstd.MinDictionary
	MaxDictionary = zstd.MaxDictionary
)

var (
	// ErrDictionary reports a dictionary that is not one, that is too large, or that is missing
	// where one is needed.
	ErrDictionary = zstd.ErrDictionary
	// ErrTraining reports pages that no dictionary can be made of.
	ErrTraining = zstd.ErrTraining
)

// DictionaryFile returns the file that "dict=" names, or nothing.
func (a Algorithm) DictionaryFile() string { return a.file }

// WithDictionary returns a with what was read from its dictionary's file: data, a dictionary as
// zstd --train makes it, of at most [MaxDictionary] bytes, which is not kept. From now on String
// says that it was read from file, which lets a caller write the name in full. An Algorithm that
// takes no dictionary, a file whose name "dict=" cannot have and data that is no dictionary are
// errors that wrap [ErrDictionary].
//
// Reading the file is left to the caller: only a process that was told a name by its user may open
// it, and a name that is looked up twice may be two files. The bytes travel inside the Algorithm,
// so that all that makes compressors or decompressors from one, a store for each of its workers,
// needs to know nothing of dictionaries; it is one pointer, and two Algorithms with the same
// pointer do the same.
func (a Algorithm) WithDictionary(file string, data []byte) (Algorithm, error) {
	if a.file == "" {
		return Algorithm{}, fmt.Errorf("%w: %s has no parameter dict", ErrDictionary, a)
	}
	if err := checkFile(file); err != nil {
		return Algorithm{}, fmt.Errorf("%w: %w", ErrDictionary, err)
	}
	dict, err := zstd.NewDictionary(data)
	if err != nil {
		return Algorithm{}, fmt.Errorf("dictionary %s: %w", file, err)
	}
	a.file, a.dict = file, dict
	return a, nil
}

// Dictionary returns a copy of the dictionary that WithDictionary was given, for another process to
// give it again; nil where there was none.
func (a Algorithm) Dictionary() []byte {
	if a.dict == nil {
		return nil
	}
	return a.dict.Bytes()
}

// checkDictionary refuses an Algorithm whose dictionary's file was not read.
func (a Algorithm) checkDictionary() error {
	if a.file != "" && a.dict == nil {
		return fmt.Errorf("%w: %s was not read", ErrDictionary, a.file)
	}
	return nil
}

// TrainDictionary makes a dictionary of at most size bytes for pages like these, compressed by zstd
// at a level; [Algorithm.WithDictionary] takes what it returns, and [zstd.Train] says more. Pages
// that are one word repeated should be left out, since no device compresses them. Where the pages
// have too little in common the error wraps [ErrTraining].
func TrainDictionary(pages [][]byte, level, size int) ([]byte, error) {
	return zstd.Train(pages, level, size)
}
