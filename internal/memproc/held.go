// SPDX-License-Identifier: Apache-2.0

// Package memproc starts processes that hold known memory, for tests that sample processes.
package memproc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

const (
	pageSize = 4096
	variable = "ZRAMFS_TEST_HOLD_PAGES"
)

// Count is the number of pages that a process holds.
const Count = 3 * 4096

// Pages returns count pages of 4096 bytes, as a process holds them: a third is one repeated word, a
// third noise and a third compresses well, in turns.
func Pages(count int) []byte {
	memory := make([]byte, count*pageSize)
	fill(memory)
	return memory
}

func fill(memory []byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range len(memory) / pageSize {
		page := memory[i*pageSize : (i+1)*pageSize]
		switch i % 3 {
		case 0:
			for at := range page {
				page[at] = 0x5a
			}
		case 1:
			for at := 0; at < pageSize; at += 8 {
				binary.LittleEndian.PutUint64(page[at:], rng.Uint64())
			}
		default:
			copy(page, fmt.Sprintf("page %d", i))
		}
	}
}

// Main runs the process that Start has started, and returns in any other. TestMain calls it first.
// The process ends when its standard input does. Its memory is not on Go's heap, where the race
// detector would add as much again.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	memory, err := syscall.Mmap(-1, 0, Count*pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fill(memory)
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Start starts the test binary as a process that holds Count pages, and returns its number and a
// function that ends it, which the end of the test calls too.
func Start(t *testing.T) (pid int, end func()) {
	t.Helper()
	return StartSelf(t, variable, "ready\n")
}

// StartSelf starts the test binary with variable in its environment, waits until it prints the line
// ready, and returns its number and a function that ends it by the end of its standard input. The
// end of the test calls that too.
func StartSelf(t *testing.T, variable, ready string) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), variable+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = stdin.Close()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(end)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != ready {
		t.Fatalf("the process prints %q (%v)", line, err)
	}
	return cmd.Process.Pid, end
}
