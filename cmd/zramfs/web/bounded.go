// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net"
	"sync"
	"sync/atomic"
)

// maxConnections bounds the open connections of the server. A request whose header does not come is
// over after headerTime, and an idle connection after idleTime.
const maxConnections = 256

// A bounded listener closes connections beyond most at once, so that a flood of them takes neither
// memory nor descriptors.
type bounded struct {
	net.Listener
	most int32
	open atomic.Int32
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) <= b.most {
			return &counted{Conn: c, done: sync.OnceFunc(func() { b.open.Add(-1) })}, nil
		}
		b.open.Add(-1)
		_ = c.Close() // the client may be gone
	}
}

// A counted connection counts until it is closed.
type counted struct {
	net.Conn
	done func()
}

func (c *counted) Close() error {
	c.done()
	return c.Conn.Close()
}
