// SPDX-License-Identifier: Apache-2.0

package zramfsd

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/idlework"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/store"
)

// The first argument of a process of the program says what it does.
const (
	Keeper  = "keeper"
	Worker  = "worker"
	Ballast = "ballast"
)

// Config describes a device to its server.
type Config struct {
	// Dir is the mount point: an existing directory, absolute and without symbolic links.
	Dir string
	// Disksize is the size of the device in bytes, as store.Config has it.
	Disksize uint64
	// Algorithm chooses the codec of each page.
	Algorithm codec.Algorithm
	// MemLimit bounds the memory that the store takes, in bytes; 0 is no limit.
	MemLimit uint64
	// Backing is the path of the file or block device that pages are written back to, absolute;
	// empty for none. It is the keeper's, which hands it to workers.
	Backing string
	// SpillDaily is how many bytes of pages may go to Backing in 24 hours without being asked for.
	SpillDaily uint64
	// OnFull says what a write does that finds the memory limit reached; empty is store.FullSpill.
	OnFull store.OnFull
	// Latency decides when idle processors are kept from halting.
	Latency pmqos.Policy
	// Cold is the part of a processor that may go into packing pages that are not used for long.
	Cold idlework.Share
	// Scrub is the time from one scrub to the next; 0 for none.
	Scrub time.Duration
	// Memory is the kind of memory of the image.
	Memory store.MemoryKind
	// CreatedDir means that Dir was made for this mount: it is removed after the unmount.
	CreatedDir bool
	// Foreground means that the keeper is the process that a user has started: it prints the path
	// of the data file on standard output once that can be opened, unless Quiet, and its log on
	// standard error.
	Foreground, Quiet bool
}

// Args returns the arguments of a process for c. They are plain, so that ps shows what runs.
func (c Config) Args(role string) []string {
	args := []string{
		role,
		"--size=" + strconv.FormatUint(c.Disksize, 10),
		"--algorithm=" + c.Algorithm.String(),
		"--mem-limit=" + strconv.FormatUint(c.MemLimit, 10),
		"--latency=" + string(c.Latency),
		"--cold=" + c.Cold.String(),
		"--scrub=" + c.Scrub.String(),
		"--on-full=" + string(cmp.Or(c.OnFull, store.FullSpill)),
		"--spill-daily=" + strconv.FormatUint(c.SpillDaily, 10),
		"--memory=" + string(c.Memory),
	}
	if c.Backing != "" && role == Keeper {
		args = append(args, "--spill="+c.Backing)
	}
	if c.CreatedDir {
		args = append(args, "--created-dir")
	}
	if c.Foreground {
		args = append(args, "--foreground")
	}
	if c.Quiet {
		args = append(args, "--quiet")
	}
	return append(args, "--", c.Dir)
}

// Parse reads the arguments that Args has made, without the role. It reads no file: the algorithm
// lacks the bytes of its dictionary.
func Parse(args []string) (c Config, err error) {
	f := flag.NewFlagSet("zramfsd", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Uint64Var(&c.Disksize, "size", 0, "")
	f.Uint64Var(&c.MemLimit, "mem-limit", 0, "")
	f.Uint64Var(&c.SpillDaily, "spill-daily", 0, "")
	f.StringVar(&c.Backing, "spill", "", "")
	f.StringVar((*string)(&c.Memory), "memory", string(store.MemoryAuto), "")
	f.DurationVar(&c.Scrub, "scrub", 0, "")
	f.BoolVar(&c.CreatedDir, "created-dir", false, "")
	f.BoolVar(&c.Foreground, "foreground", false, "")
	f.BoolVar(&c.Quiet, "quiet", false, "")
	algorithm := f.String("algorithm", "", "")
	latency := f.String("latency", "", "")
	cold := f.String("cold", "", "")
	onFull := f.String("on-full", "", "")
	if err = f.Parse(args); err == nil && f.NArg() != 1 {
		err = errors.New("want one DIR")
	}
	if err == nil {
		c.Algorithm, err = codec.Parse(*algorithm, codec.AnyEngine)
	}
	if err == nil {
		c.Latency, err = pmqos.ParsePolicy(*latency)
	}
	if err == nil {
		c.Cold, err = idlework.ParseShare(*cold)
	}
	if err == nil {
		c.OnFull, err = store.ParseOnFull(*onFull)
	}
	if err != nil {
		return Config{}, fmt.Errorf("zramfsd: %w: install zramfs and zramfsd from one build", err)
	}
	c.Dir = f.Arg(0)
	return c, nil
}
