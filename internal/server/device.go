// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/daemon"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/notify"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/safeopen"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// keep is the keeper of a device until that has ended. A failure before the device is ready goes to
// the command that waits, if there is one. LeaveNamespace and BecomeIOFlusher execute the program
// again, so what comes before them is done three times.
func keep(args []string, invalid error) error {
	c, err := zramfsd.Parse(args)
	var ready *os.File
	descriptors := 0
	if !c.Foreground {
		ready, descriptors = os.NewFile(zramfsd.ReadyFD, "announcement"), 1
	}
	var cfg daemon.Config
	if err = errors.Join(invalid, err); err == nil {
		cfg, err = keeperConfig(c, descriptors)
	}
	if err == nil {
		err = daemon.Run(context.Background(), cfg, ready)
	} else if ready != nil {
		// It is lost where the command has ended.
		_ = status.WriteFailure(ready, &status.StartError{Message: err.Error(), Code: 1})
	}
	if err != nil && c.Foreground && c.CreatedDir {
		_ = cfg.Namespace.Do(func() error { return os.Remove(c.Dir) }) // it stays where a device is mounted
	}
	return err
}

// keeperConfig leaves the mount namespace of the command, if that can end, and becomes an I/O
// flusher. The command has passed a number of descriptors behind the standard ones.
func keeperConfig(c zramfsd.Config, descriptors int) (daemon.Config, error) {
	namespace, stays, err := protect.LeaveNamespace(descriptors)
	if err != nil {
		return daemon.Config{}, err
	}
	cfg := deviceConfig(c, namespace)
	if stays.Name != "" {
		cfg.Early = append(cfg.Early, stays)
	}
	err = namespace.Do(func() error {
		cfg.Algorithm, err = withDictionary(c.Algorithm, nil)
		return err
	})
	cfg.OnEnd = func(out io.Writer) error {
		return uprecord.ForgetEnded(func(step, state, detail string) error {
			_, err := fmt.Fprintln(out, step, state, detail)
			return err
		}, host.Local)
	}
	if c.Foreground {
		cfg.OnReady = func(r *status.Report) error { return sayReady(c, r) }
	}
	return cfg, err
}

// sayReady prints the path of the data file for the user of the foreground, and notifies
// the service manager.
func sayReady(c zramfsd.Config, r *status.Report) error {
	data := filepath.Join(r.Dir, status.DataFile)
	if !c.Quiet {
		if _, err := fmt.Println(data); err != nil {
			return err
		}
	}
	return notify.Ready(r.PID, fmt.Sprintf("%d bytes at %s", r.Disksize, data))
}

// errReported is the failure of a worker that its keeper reports.
var errReported = errors.New("the worker has failed")

// work is a worker. It has inherited the settings that the keeper could make for its threads.
func work(args []string) error {
	namespace, err := protect.InheritedNamespace()
	if err != nil {
		return err
	}
	c, err := zramfsd.Parse(args)
	if err != nil {
		return err
	}
	cfg := deviceConfig(c, namespace)
	dictionary, err := daemon.WorkerDictionary()
	if err == nil {
		cfg.Algorithm, err = withDictionary(c.Algorithm, dictionary)
	}
	if err != nil {
		return err
	}
	if daemon.Work(cfg) != nil {
		return errReported
	}
	return nil
}

func deviceConfig(c zramfsd.Config, namespace *protect.Namespace) daemon.Config {
	return daemon.Config{
		Config: c, Version: zramfsd.Version(release), Early: []status.Protection{protect.BecomeIOFlusher()}, Namespace: namespace,
		WorkArgs:   func(c zramfsd.Config) []string { return c.Args(zramfsd.Worker) },
		DeviceArgs: func(c zramfsd.Config) []string { return c.Args(zramfsd.Keeper) },
	}
}

// withDictionary returns the algorithm with the dictionary that it names: the given one, or the one
// in its file for nil.
func withDictionary(a codec.Algorithm, dictionary []byte) (codec.Algorithm, error) {
	file := a.DictionaryFile()
	if file == "" {
		return a, nil
	}
	var err error
	if dictionary == nil {
		dictionary, err = safeopen.Read(file, codec.MaxDictionary)
	}
	if err == nil {
		a, err = a.WithDictionary(file, dictionary)
	}
	if err != nil {
		return a, fmt.Errorf("dictionary %s: %w", file, err)
	}
	return a, nil
}
