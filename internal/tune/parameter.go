// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"fmt"
	"path"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
)

// A Parameter names a parameter of the kernel: a sysctl as sysctl(8) has it, vm.swappiness, or the
// path of a file below /sys.
type Parameter string

// file returns the file of a parameter that is no sysctl, relative to the root. A record is the
// only place from which another path could come, and none but those below /sys is ever written.
func (p Parameter) file() (name string, isFile bool, err error) {
	if !strings.HasPrefix(string(p), "/") {
		return "", false, nil
	}
	if !strings.HasPrefix(string(p), "/sys/") || path.Clean(string(p)) != string(p) {
		return "", true, fmt.Errorf("%q is no file below /sys", string(p))
	}
	return string(p), true, nil
}

// Read returns the value without white space around it. The error is fs.ErrNotExist where the
// kernel lacks the parameter.
func (p Parameter) Read(m host.Root) (string, error) {
	name, isFile, err := p.file()
	switch {
	case err != nil:
		return "", err
	case isFile:
		return m.Read(name)
	}
	return m.Sysctl(string(p))
}

func (p Parameter) write(m host.Root, value string) error {
	name, isFile, err := p.file()
	switch {
	case err != nil:
		return err
	case isFile:
		return m.WriteControl(name, value+"\n")
	}
	return m.WriteSysctl(string(p), value)
}

// set changes the value and reads it back: a kernel may take a write and keep another value.
func (p Parameter) set(m host.Root, value string) error {
	if err := p.write(m, value); err != nil {
		return err
	}
	now, err := p.Read(m)
	if err == nil && now != value {
		err = fmt.Errorf("the kernel has made it %q", now)
	}
	return err
}
