// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// holdPages makes the test binary a process that holds known memory: the thirds of heldPages are of
// one repeated word, of noise, and of something that compresses well.
const (
	holdPages = "ZRAMFS_TEST_HOLD_PAGES"
	heldPages = 3 * 4096
)

// knownPages returns count pages, a third of each kind, mixed.
func knownPages(count int) []byte {
	memory := make([]byte, count*pageSize)
	fillKnown(memory)
	return memory
}

func fillKnown(memory []byte) {
	count := len(memory) / pageSize
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range count {
		page := memory[i*pageSize : (i+1)*pageSize]
		switch i % 3 {
		case 0:
			for at := range page {
				page[at] = 0x5a
			}
		case 1:
			noise(page, rng)
		default:
			copy(page, fmt.Sprintf("page %d", i))
		}
	}
}

// hold is the life of that process: it ends when its standard input does. Its memory is none of the
// Go heap's, where the race detector would keep as much again, and more, of its own.
func hold() {
	memory, err := syscall.Mmap(-1, 0, heldPages*pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fillKnown(memory)
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// startHolder returns the number of such a process, which ends with the test, and a function that
// ends it before.
func startHolder(t *testing.T) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), holdPages+"=1")
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
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the process says %q (%v)", line, err)
	}
	return cmd.Process.Pid, end
}
