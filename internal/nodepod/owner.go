// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/zramfs/zramfs/internal/onhost"
)

// An owner is the file of a node that names the pod which was started last for a device. Two pods
// can be on the node at once: that of a DaemonSet that was made anew starts while the one before is
// being deleted, and so does the pod after one that was deleted by force.
type owner string

// ownerOf returns the file for the device at dir.
func ownerOf(dir string) owner {
	return owner(filepath.Join(filepath.Dir(programs), url.PathEscape(dir)+".pod"))
}

// note makes a pod the last one. The thread is in the node's namespaces.
func (f owner) note(pod string) error {
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o755); err != nil {
		return err
	}
	return writeFile(string(f), pod)
}

// other returns the pod that was started after this one, empty for none. The thread is in the
// node's namespaces.
func (f owner) other(than string) (pod string, err error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, os.ErrNotExist) || string(text) == than {
		err, text = nil, nil
	}
	return string(text), err
}

// remove forgets the pod.
func (f owner) remove() error {
	return onhost.Within(func() error {
		if err := os.Remove(string(f)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
}

// name is the pod in the file of an owner.
func (o options) name() string { return o.namespace + "/" + o.pod }

// takeOver makes this pod the last one of its device.
func (o options) takeOver() error {
	err := onhost.Within(func() error { return ownerOf(o.dir).note(o.name()) })
	if err != nil {
		return fmt.Errorf("note on the node whose device it is: %w", err)
	}
	return nil
}

// successor returns the pod that has taken the device over from this one, empty for none.
func (o options) successor() (pod string, err error) {
	err = onhost.Within(func() (err error) {
		pod, err = ownerOf(o.dir).other(o.name())
		return err
	})
	return pod, err
}
