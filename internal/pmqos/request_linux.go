// SPDX-License-Identifier: Apache-2.0

package pmqos

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
)

// Device is the kernel's file of PM QoS requests for the latency of processors.
const Device = "/dev/cpu_dma_latency"

// A request is an open file of PM QoS requests. Until take it asks for nothing.
type request struct{ file *os.File }

// Values of a request (include/linux/pm_qos.h of the kernel): the latency in microseconds.
const (
	noHalting    int32 = 0
	defaultValue int32 = -1 // PM_QOS_DEFAULT_VALUE
)

// Available reports why no PM QoS request can be made on this machine, or nil.
func Available(m host.Root) error {
	r, err := openRequest(m)
	if err != nil {
		return err
	}
	return r.close()
}

// Hold keeps idle processors of this machine from halting until the caller closes what it returns.
func Hold() (io.Closer, error) {
	r, err := openRequest(host.Local)
	if err != nil {
		return nil, err
	}
	if err := r.take(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r.file, nil
}

// openRequest opens the file. In a container whose /dev lacks it, the file is made for a moment,
// where that is allowed.
func openRequest(m host.Root) (*request, error) {
	f, err := os.OpenFile(m.Path(Device), os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		f, err = openByNumber(m)
	}
	if err != nil {
		return nil, fmt.Errorf("no PM QoS request: %w", err)
	}
	return &request{file: f}, nil
}

// openByNumber opens the file by the number that /proc/misc gives.
func openByNumber(m host.Root) (*os.File, error) {
	minor, err := miscMinor(m, filepath.Base(Device))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(m.Path("dev"), ".zramfs-")
	if err != nil {
		return nil, err
	}
	node := filepath.Join(dir, "node")
	err = unix.Mknod(node, unix.S_IFCHR|0o600, int(unix.Mkdev(unixMiscMajor, minor)))
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "mknod", Path: node, Err: err}, os.RemoveAll(dir))
	}
	f, err := os.OpenFile(node, os.O_WRONLY, 0)
	return f, errors.Join(err, os.RemoveAll(dir))
}

// unixMiscMajor is MISC_MAJOR (include/uapi/linux/major.h).
const unixMiscMajor = 10

// miscMinor returns the number of a device in /proc/misc, whose lines are a number and a name.
func miscMinor(m host.Root, name string) (uint32, error) {
	text, err := m.Read("proc/misc")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 2 && fields[1] == name {
			n, err := strconv.ParseUint(fields[0], 10, 20)
			return uint32(n), err
		}
	}
	return 0, fmt.Errorf("the kernel has no %s (CONFIG_CPU_IDLE)", name)
}

// take makes idle processors poll.
func (r *request) take() error { return r.write(noHalting) }

// letGo lets them halt.
func (r *request) letGo() error { return r.write(defaultValue) }

func (r *request) write(value int32) error {
	var text [4]byte
	binary.NativeEndian.PutUint32(text[:], uint32(value))
	if _, err := r.file.Write(text[:]); err != nil {
		return fmt.Errorf("PM QoS request: %w", err)
	}
	return nil
}

// close ends the request.
func (r *request) close() error { return r.file.Close() }
