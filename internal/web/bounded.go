// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net"
	"slices"
	"sync"
)

// maxConnections bounds the open connections of the server. A request whose header does not come is
// over after headerTime, and an idle connection after idleTime.
const maxConnections = 256

// A bounded listener has most open connections at the most, so that a flood of them takes neither
// memory nor descriptors. One more ends the oldest: a client that holds many does not keep others
// out, and one that lost an idle connection opens another.
type bounded struct {
	net.Listener
	most int

	lock sync.Mutex
	open []*counted // the oldest first
}

func (b *bounded) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	next := &counted{c, b}
	b.lock.Lock()
	b.open = append(b.open, next)
	var oldest *counted
	if len(b.open) > b.most {
		oldest = b.open[0]
	}
	b.lock.Unlock()
	if oldest != nil {
		_ = oldest.Close() // the client may be gone
	}
	return next, nil
}

// A counted connection counts until it is closed.
type counted struct {
	net.Conn
	by *bounded
}

func (c *counted) Close() error {
	c.by.lock.Lock()
	c.by.open = slices.DeleteFunc(c.by.open, func(other *counted) bool { return other == c })
	c.by.lock.Unlock()
	return c.Conn.Close()
}
