// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/require"
)

func init() {
	children["work until killed"] = workUntilKilled
}

const (
	killPages     = 4096
	killDisksize  = killPages * PageSize
	killGroups    = 3 // goroutines that write, each to pages of its own
	killWords     = 2*killPages + 1
	killRoundsAll = 200
)

// killJournal maps a journal that outlives the process that keeps it, and a count of the operations
// done.
func killJournal(f *os.File) (j journal, done *atomic.Uint64, err error) {
	if err := f.Truncate(killWords * 8); err != nil {
		return j, nil, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, killWords*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return j, nil, err
	}
	words := unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&mem[0])), killWords)
	return journal{held: words[:killPages], wants: words[killPages : 2*killPages], apart: 1}, &words[2*killPages], nil
}

// killConfig changes from life to life: every third has a limit that binds.
func killConfig(life uint64) (Config, error) {
	a, err := codec.Parse("adaptive")
	cfg := Config{Disksize: killDisksize, Algorithm: a}
	if life%3 == 2 {
		cfg.MemLimit = limitOf(killDisksize, 28)
	}
	return cfg, err
}

// workUntilKilled is a worker: it carries on from what the one before it left,
// looks at every page, and writes, changes and discards for ever.
func workUntilKilled() error {
	life, err := strconv.ParseUint(os.Getenv("LIFE"), 10, 32)
	if err != nil {
		return err
	}
	mem, err := AdoptMemory(os.NewFile(3, "image"), MemoryKind(os.Getenv("KIND")))
	if err != nil {
		return err
	}
	j, done, err := killJournal(os.NewFile(4, "journal"))
	if err != nil {
		return err
	}
	cfg, err := killConfig(life)
	if err != nil {
		return err
	}
	if os.Getenv("BACKED") != "" {
		secret, err := AdoptSecret(os.NewFile(6, "key"))
		if err != nil {
			return err
		}
		if cfg.Backing, err = NewBacking(os.NewFile(5, "backing"), secret); err != nil {
			return err
		}
	}
	s, err := Open(mem, cfg)
	if err != nil {
		return err
	}
	if err := j.settle(s); err != nil {
		return err
	}
	var working sync.WaitGroup
	for group := range uint64(killGroups) {
		working.Go(func() {
			rng := rand.New(rand.NewPCG(life, group))
			for {
				page := rng.Uint64N(killPages/killGroups)*killGroups + group
				if err := j.operate(s, rng, page, uint32(done.Add(1))); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		})
	}
	working.Go(func() {
		for i := 0; ; i++ {
			s.MarkIdle(0)
			a, err := codec.Parse([]string{"zstd(level=1)", "lz4"}[i%2])
			if err == nil {
				_, err = s.Recompress(context.Background(), RecompressConfig{Algorithm: a, MaxPages: 200})
			}
			if err != nil && !errors.Is(err, ErrFull) {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			if err == nil || errors.Is(err, ErrFull) {
				err = joinSome(s, 4)
			}
			if err != nil && !errors.Is(err, ErrFull) {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			s.CompactNow(nil)
			if _, err := s.WriteBack(everything); err != nil && !errors.Is(err, ErrNoBacking) && !errors.Is(err, ErrBackingFull) && !errors.Is(err, ErrFull) {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	})
	working.Wait()
	return nil
}

// A worker killed by SIGKILL at any instant, opening, sweeping, compacting, writing back
// or at the memory limit, leaves an image that the next carries on from. Every
// page holds what was written last, or what was being written.
func TestKilledAtAnyInstant(t *testing.T) {
	t.Run("in memory", func(t *testing.T) { killAtAnyInstant(t, nil) })
	t.Run("with a backing device", func(t *testing.T) { killAtAnyInstant(t, newBacking(t, killPages*3/4)) })
}

func killAtAnyInstant(t *testing.T, backing *Backing) {
	rounds := uint64(killRoundsAll)
	if testing.Short() {
		rounds = 10
	}
	mem := newMemory(t)
	s, err := Create(mem, withAlgorithm(t, Config{Disksize: killDisksize, Backing: backing}))
	if err != nil {
		t.Fatal(err)
	}
	finish(t, s)
	book, err := openMemfd()
	if err != nil {
		t.Fatal(err)
	}
	j, done, err := killJournal(book)
	if err != nil {
		t.Fatal(err)
	}
	files := []*os.File{mem.File(), book}
	if backing != nil {
		t.Setenv("BACKED", "1")
		files = append(files, backing.file.(*os.File), backing.secret.File())
	}
	t.Setenv("KIND", string(mem.Kind()))
	rng := rand.New(rand.NewPCG(require.Seed(t, 1), 1))
	for life := range rounds {
		t.Setenv("LIFE", strconv.FormatUint(life, 10))
		before := done.Load()
		cmd := startChild(t, "work until killed", files...)
		if life%2 == 0 { // at work; a busy machine may take long to come to that
			wants := before + 1 + rng.Uint64N(200)
			for end := time.Now().Add(time.Minute); done.Load() < wants; time.Sleep(100 * time.Microsecond) {
				if time.Now().After(end) {
					t.Fatalf("life %d has done %d operations in a minute", life, done.Load()-before)
				}
			}
		} else { // while it opens, too
			time.Sleep(time.Duration(rng.Int64N(int64(80 * time.Millisecond))))
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		killed(t, cmd)
		if life%4 == 3 || life == rounds-1 {
			lookAtTheImage(t, mem, j, backing)
		}
	}
	t.Logf("%d kills, %d operations", rounds, done.Load())
	if err := book.Close(); err != nil {
		t.Error(err)
	}
}

// lookAtTheImage opens it, compares every page, and checks every invariant.
func lookAtTheImage(t *testing.T, mem *Memory, j journal, backing *Backing) {
	t.Helper()
	s, err := Open(mem, withAlgorithm(t, Config{Backing: backing}))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.settle(s); err != nil {
		t.Error(err)
	}
	finish(t, s)
	if t.Failed() {
		t.FailNow()
	}
}
