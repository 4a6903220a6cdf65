// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

// A backing is the backing device of an image, which the keeper holds for its workers. The key
// lies in memory that keeper and workers share, and nowhere else.
type backing struct {
	file   *os.File
	secret *store.Secret
	path   string // absolute, for people
}

// openBacking opens the backing device at a path and makes a key for it.
func openBacking(path string) (*backing, error) {
	f, err := store.OpenBacking(path)
	if err != nil {
		return nil, err
	}
	secret, err := store.NewSecret()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		name = path
	}
	return &backing{f, secret, name}, nil
}

// close lets go of the device and forgets the key. It does nothing for nil.
func (b *backing) close() error {
	if b == nil {
		return nil
	}
	return errors.Join(b.file.Close(), b.secret.Close())
}

// backingVariable names, in a worker's environment, the descriptor of the backing device; the one
// after it is that of the key.
const backingVariable = "ZRAMFS_BACKING_FD"

// passBacking passes a backing device to a worker that cmd will start, behind all other
// descriptors; nil for none.
func passBacking(cmd *exec.Cmd, b *backing) {
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, backingVariable+"=") })
	if b == nil {
		return
	}
	cmd.Env = append(cmd.Env, backingVariable+"="+strconv.Itoa(orderFD+len(cmd.ExtraFiles)))
	cmd.ExtraFiles = append(cmd.ExtraFiles, b.file, b.secret.File())
}

// workerBacking returns the backing device that the keeper passed to this worker, nil for none. A
// second call fails.
func workerBacking() (*store.Backing, error) {
	text := os.Getenv(backingVariable)
	if text == "" {
		return nil, nil
	}
	fd, err := strconv.ParseUint(text, 10, 31)
	if err != nil || fd < locksFD {
		return nil, fmt.Errorf("%s is %q: want a descriptor", backingVariable, text)
	}
	f := os.NewFile(uintptr(fd), "backing device")
	secret, err := store.AdoptSecret(os.NewFile(uintptr(fd+1), "key"))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return store.NewBacking(f, secret)
}

// resizePatience bounds the wait of setBacking for a device that is being made anew: its next
// worker may wait for the answer.
const resizePatience = 5 * time.Second

// setBacking opens the backing device of a device that has no size yet, in place of the one
// before; an empty path stands for none. It returns the path for people.
func (k *keeper) setBacking(path string) (string, syscall.Errno) {
	// A worker answers reset a moment before the keeper knows that the device was made anew.
	for end := time.Now().Add(resizePatience); !k.resizing.TryLock(); time.Sleep(resizePause) {
		if time.Now().After(end) { // the device gets its size
			return "", syscall.EBUSY
		}
	}
	defer k.resizing.Unlock()
	i := k.image.Load()
	if i.disksize != 0 {
		return "", syscall.EBUSY
	}
	var next *backing
	if path != "" {
		var err error
		err = k.cfg.Namespace.Do(func() error {
			next, err = openBacking(path)
			return err
		})
		if err != nil {
			k.logger.Warn(err.Error())
			number := syscall.EINVAL
			errors.As(err, &number)
			return "", number
		}
		path = next.path
	}
	if err := i.backing.Swap(next).close(); err != nil {
		k.logger.Warn("close the backing device of before: " + err.Error())
	}
	return path, 0
}

// setBacking is fusefs.Config.SetBacking. The path is looked up by the keeper, which has another
// working directory than the process that wrote it.
func (w *worker) setBacking(request uint64, path string) error {
	if path != "" && path[0] != '/' {
		return fmt.Errorf("%s is no absolute path: %w", path, syscall.EINVAL)
	}
	a, err := w.askKeeper(hotRequest{Request: request, Backing: &path})
	if err != nil {
		return err
	}
	w.backingPath.Store(&a.Backing)
	return nil
}

// backingName is fusefs.Config.Backing.
func (w *worker) backingName() string { return *w.backingPath.Load() }

func (w *worker) backingStatus(s store.Stats) status.Backing {
	pages, limited := w.server.WritebackLimit()
	return status.Backing{
		Path: w.backingName(), Capacity: s.BackingPages, Pages: s.WrittenBack, Reads: s.BackingReads, Writes: s.BackingWrites,
		FailedWrites: s.BackingErrors.Count, Limited: limited, Limit: pages,
	}
}

// serveBacking completes a server's configuration.
func (w *worker) serveBacking(cfg *fusefs.Config) {
	w.backingPath.Store(&w.facts.Backing)
	cfg.Backing, cfg.SetBacking = w.backingName, w.setBacking
}
