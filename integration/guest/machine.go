// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/integration/guest/boot"
)

const (
	// bootTimeout bounds the start of a machine without /dev/kvm on a busy host.
	bootTimeout = 10 * time.Minute
	// consoleTail is how much of the console a failed test prints.
	consoleTail = 16 << 10
	// monitorTimeout bounds one command of qemu's monitor.
	monitorTimeout = time.Minute
)

// A Machine is a virtual machine that runs. Safe for concurrent use.
type Machine struct {
	t     testing.TB
	dir   string        // of the console's text, and of the sockets of console and monitor
	ended chan struct{} // closed when qemu has ended
	up    chan struct{} // closed when the agent is there

	mu    sync.Mutex
	stdin io.Writer                  // guarded by mu
	next  int                        // ID of the last request, guarded by mu
	waits map[int]chan<- *boot.Reply // guarded by mu
}

// Start boots a machine and returns once its agent answers. The machine ends with the test.
func Start(t testing.TB, c Config) *Machine {
	t.Helper()
	m := Boot(t, c)
	select {
	case <-m.up:
	case <-m.ended:
		t.Fatal("the machine ended while it booted")
	case <-time.After(bootTimeout):
		t.Fatalf("the machine did not boot within %s", bootTimeout)
	}
	return m
}

// Boot is Start for machines whose agent need not answer; it returns at once.
func Boot(t testing.TB, c Config) *Machine {
	t.Helper()
	kernel, archive := c.build(t)
	// Not TempDir, which can be too long for the path of a socket.
	dir, err := os.MkdirTemp("", "guest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // of the host's temporary files
	m := &Machine{t: t, dir: dir, ended: make(chan struct{}), up: make(chan struct{}), waits: map[int]chan<- *boot.Reply{}}
	cmd := exec.Command("qemu-system-x86_64", c.arguments(kernel, archive, dir)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errors strings.Builder
	cmd.Stderr = &errors
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.stdin = stdin
	go m.receive(stdout)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-m.ended              // the output is read to its end before Wait
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("qemu: %s\nend of the console:\n%s", errors.String(), tail(m.Console(), consoleTail))
		}
	})
	return m
}

func (c *Config) arguments(kernel, archive, dir string) []string {
	args := []string{"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-accel", accelerator(), "-cpu", "max",
		"-m", strconv.Itoa(orDefault(c.Memory, 512)), "-smp", strconv.Itoa(orDefault(c.CPUs, 1)),
		"-kernel", kernel, "-initrd", archive,
		"-append", "console=ttyS0 panic=-1 quiet loglevel=6 sysrq_always_enabled " + c.Parameters,
		"-chardev", "socket,id=console,server=on,wait=off,path=" + filepath.Join(dir, "tty") + ",logfile=" + filepath.Join(dir, "console"),
		"-chardev", "socket,id=monitor,server=on,wait=off,path=" + filepath.Join(dir, "monitor"),
		"-serial", "chardev:console", "-serial", "stdio", "-mon", "chardev=monitor"}
	snapshot := map[bool]string{false: "on", true: "off"}[c.Keep]
	for _, disk := range c.Disks {
		args = append(args, "-drive", "if=virtio,format=raw,cache=unsafe,snapshot="+snapshot+",file="+disk)
	}
	return append(args, c.Arguments...)
}

// accelerator is KVM where the processor has what it takes. Without, /dev/kvm can be there as well,
// as PVM's, and boots no kernel but its own.
func accelerator() string {
	const emulated = "tcg,thread=multi"
	processors, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || !slices.ContainsFunc(strings.Fields(string(processors)), func(flag string) bool { return flag == "vmx" || flag == "svm" }) {
		return emulated
	}
	file, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return emulated
	}
	_ = file.Close() // nothing was written
	return "kvm"
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// receive hands replies to those that wait for them, until qemu ends.
func (m *Machine) receive(from io.Reader) {
	defer close(m.ended)
	started := sync.OnceFunc(func() { close(m.up) })
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var reply boot.Reply
		if json.Unmarshal(line, &reply) != nil {
			continue // the firmware's or the kernel's
		}
		if reply.ID == 0 {
			started()
			continue
		}
		m.mu.Lock()
		if wait := m.waits[reply.ID]; wait != nil {
			wait <- &reply
			delete(m.waits, reply.ID)
		}
		m.mu.Unlock()
	}
}

// Run runs a command of the shell in the machine. One that does not end within timeout, or a
// machine that ends before, fails the test.
func (m *Machine) Run(timeout time.Duration, command string) boot.Reply {
	m.t.Helper()
	reply, err := m.Try(timeout, command)
	if err != nil {
		m.t.Fatalf("%s: %v", command, err)
	}
	return reply
}

// Must is Run for a command that has to succeed; it returns the output without space around it.
func (m *Machine) Must(timeout time.Duration, command string) string {
	m.t.Helper()
	r := m.Run(timeout, command)
	if r.Code != 0 {
		m.t.Fatalf("%s: exit code %d, %s\n%s", command, r.Code, r.Error, r.Output)
	}
	return strings.TrimSpace(r.Output)
}

// Try is Run without failing the test. The command goes on after an error.
func (m *Machine) Try(timeout time.Duration, command string) (boot.Reply, error) {
	wait := make(chan *boot.Reply, 1)
	m.mu.Lock()
	m.next++
	m.waits[m.next] = wait
	text, err := json.Marshal(boot.Request{ID: m.next, Command: command})
	if err == nil {
		_, err = m.stdin.Write(append(text, '\n'))
	}
	m.mu.Unlock()
	if err != nil {
		return boot.Reply{}, err
	}
	select {
	case r := <-wait:
		return *r, nil
	case <-m.ended:
		return boot.Reply{}, fmt.Errorf("the machine has ended")
	case <-time.After(timeout):
		return boot.Reply{}, fmt.Errorf("no answer within %s", timeout)
	}
}

// Wait waits until the machine has ended by itself, and fails the test where it has not within
// timeout.
func (m *Machine) Wait(timeout time.Duration) {
	m.t.Helper()
	select {
	case <-m.ended:
	case <-time.After(timeout):
		m.t.Fatalf("the machine has not ended within %s", timeout)
	}
}

// SysRq has the kernel carry out the command of the magic key, such as t: print what each task
// does. It answers even where no process runs any longer; the answer is on the console.
func (m *Machine) SysRq(key byte) error {
	tty, err := net.Dial("unix", filepath.Join(m.dir, "tty"))
	if err != nil {
		return err
	}
	defer tty.Close()
	if _, err := m.Monitor("chardev-send-break console"); err != nil {
		return err
	}
	_, err = tty.Write([]byte{key})
	return err
}

// Monitor has qemu carry out a command of its monitor, and returns what that prints.
func (m *Machine) Monitor(command string) (answer string, err error) {
	monitor, err := net.Dial("unix", filepath.Join(m.dir, "monitor"))
	if err != nil {
		return "", err
	}
	defer monitor.Close()
	if err := monitor.SetDeadline(time.Now().Add(monitorTimeout)); err != nil {
		return "", err
	}
	in := bufio.NewReader(monitor)
	for _, text := range []string{"", command + "\n"} {
		if _, err := io.WriteString(monitor, text); err != nil {
			return "", err
		}
		// The prompt says that it waits for a command, or has carried one out.
		if answer, err = until(in, "(qemu) "); err != nil {
			return answer, err
		}
	}
	return answer, nil
}

func until(r *bufio.Reader, end string) (text string, err error) {
	for !strings.HasSuffix(text, end) {
		b, err := r.ReadByte()
		if err != nil {
			return text, err
		}
		text += string(b)
	}
	return text, nil
}

// Snapshot writes the memory and the state of the machine to a file, and ends the machine.
func (m *Machine) Snapshot(path string) error {
	if _, err := m.Monitor(`migrate "exec:cat >` + path + `"`); err != nil {
		return err
	}
	_, _ = m.Monitor("quit") // it has no answer
	m.Wait(monitorTimeout)
	return nil
}

// Restore starts a machine that goes on where another with this configuration was when its snapshot
// was made, and returns once it runs: before that it would lose what is sent to it.
func Restore(t testing.TB, c Config, path string) *Machine {
	t.Helper()
	c.Arguments = append(slices.Clip(c.Arguments), "-incoming", "exec:cat "+path)
	m := Boot(t, c)
	for until := time.Now().Add(monitorTimeout); ; time.Sleep(100 * time.Millisecond) {
		answer, err := m.Monitor("info status")
		if err == nil && strings.Contains(answer, "VM status: running") {
			return m
		}
		if time.Now().After(until) {
			t.Fatalf("the machine does not go on: %s %v", answer, err)
		}
	}
}

// Console returns what the machine has written to its console so far.
func (m *Machine) Console() string {
	text, err := os.ReadFile(filepath.Join(m.dir, "console"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "..." + s[len(s)-n:]
}
