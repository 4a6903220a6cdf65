// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs"
)

// ErrNoKeeper is returned when no keeper of a device answers.
var ErrNoKeeper = errors.New("the keeper of the device does not answer")

// Upgrade asks the keeper of the device at dir to replace its worker by one of the program binary,
// an absolute path.
func Upgrade(dir, binary string) (UpgradeReport, error) {
	var r UpgradeReport
	var any struct{}
	if err := askFor(dir, request{}, answerTime, &any); err != nil {
		return r, err
	}
	if err := askFor(dir, request{Binary: binary}, UpgradeTime, &r); err != nil {
		return r, err
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// askFor sends a request to the keeper of the device at dir and decodes its answer from JSON.
func askFor(dir string, r request, limit time.Duration, answer any) (err error) {
	c, err := ask(dir, r, limit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return explainSilence(c, limit, json.NewDecoder(c).Decode(answer))
}

// ask sends a request to the keeper of the device at dir. The answer comes on the connection, which
// the caller closes, within the limit.
func ask(dir string, r request, limit time.Duration) (*net.UnixConn, error) {
	mount, err := fusefs.MountNumber(dir)
	if err != nil {
		return nil, err
	}
	c, err := dial(socketDirs(), socketName(dir, mount))
	if errors.Is(err, errForbidden) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoKeeper, err)
	}
	err = c.SetDeadline(time.Now().Add(limit))
	if err == nil {
		err = json.NewEncoder(c).Encode(r)
	}
	if errors.Is(err, unix.EPIPE) { // a keeper refuses other users before it reads
		err = nil
	}
	if err != nil {
		return nil, errors.Join(explainSilence(c, limit, err), c.Close())
	}
	return c, nil
}

// explainSilence turns an error of the connection into an ErrNoKeeper, which names the process that
// has not answered in time.
func explainSilence(c *net.UnixConn, limit time.Duration, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrNoKeeper, err)
	}
	name := "zramfs"
	if peer, err := peerOf(c); err == nil && peer.Pid != 0 {
		name = fmt.Sprintf("zramfs (PID %d)", peer.Pid)
	}
	return &silence{fmt.Sprintf("%s did not answer within %v", name, limit)}
}

// A silence is an ErrNoKeeper with its own text.
type silence struct{ text string }

func (s *silence) Error() string        { return s.text }
func (s *silence) Is(target error) bool { return target == ErrNoKeeper }
