// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package loopsetup

import (
	"errors"
	"fmt"
	"runtime"
)

// errUnsupported answers for every operation that needs the Linux kernel.
var errUnsupported = fmt.Errorf("loop devices and swap areas exist only on Linux, not on %s: %w", runtime.GOOS, errors.ErrUnsupported)

func attach(string, Config) (*Device, error)  { return nil, errUnsupported }
func (*Device) tune(Config)                   {}
func detach(int) error                        { return errUnsupported }
func isClaimed(int) (bool, error)             { return false, errUnsupported }
func keepNumber(int) error                    { return errUnsupported }
func resize(int, string) error                { return errUnsupported }
func identify(int) (FileID, string, error)    { return FileID{}, "", errUnsupported }
func swapOn(string, int, Discard) error       { return errUnsupported }
func swapOff(string) error                    { return errUnsupported }
func swapTotals() (size, used uint64)         { return 0, 0 }
func deviceAt(string) (string, uint64, error) { return "", 0, errUnsupported }
