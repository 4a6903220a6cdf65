// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// served starts the server as zramfs serve does, on a loopback address without a token.
func served(t *testing.T, most int) (l *bounded) {
	t.Helper()
	return servedBy(t, most, options{loopback: true})
}

func servedBy(t *testing.T, most int, opt options) (l *bounded) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, _ := sampler(t, opt, healthy())
	l = &bounded{Listener: inner, most: most}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, newHandler(s, opt), t.Logf) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

// A user opens connections without end, and says nothing on them, or half of a request, or asks for
// a page that does not end, and holds all: the oldest of them end, and others have their answer.
func TestFloodOfConnections(t *testing.T) {
	const most = 8
	l := served(t, most)
	var all []net.Conn
	for i := range 4 * most {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		says := []string{"", "GET / HTTP/1.1\r\nHost: localhost\r\nSlow", "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"}[i%3]
		_, _ = io.WriteString(c, says) // it may be closed
		all = append(all, c)
	}
	r, err := http.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Body.Close(); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("status %d, %v", r.StatusCode, err)
	}
	for i, c := range all[:len(all)-most] {
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("connection %d is open", i)
		}
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if n := len(l.open); n > most {
		t.Errorf("%d connections are open", n)
	}
}

// Clients that may ask for nothing cannot keep the connections by asking now and then.
func TestRefusedClientsKeepNoConnection(t *testing.T) {
	const most, token = 8, "0123456789abcdef"
	for name, c := range map[string]struct {
		opt              options
		refused, allowed string // header fields
	}{
		"no token":     {options{token: token}, "Host: a", "Host: a\r\nAuthorization: Bearer " + token},
		"another site": {options{loopback: true}, "Host: evil.example", "Host: localhost"},
	} {
		l := servedBy(t, most, c.opt)
		ask := func(fields string) (status string) {
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
			_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\n"+fields+"\r\n\r\n")
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			answer := make([]byte, len("HTTP/1.1 200"))
			_, _ = io.ReadFull(conn, answer) // nothing where there is no room
			return string(answer[len("HTTP/1.1 "):])
		}
		for range most {
			if status := ask(c.refused); status != "401" && status != "403" {
				t.Errorf("%s: status %q", name, status)
			}
		}
		// Idle connections would end by themselves after idleTime.
		for deadline := time.Now().Add(idleTime / 2); ; time.Sleep(10 * time.Millisecond) {
			if status := ask(c.allowed); status == "200" {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("%s: others get %q", name, status)
			}
		}
	}
}

// A timed connection counts the answers that could wait for ever.
type timed struct {
	net.Conn
	bounded atomic.Bool // the next write
	endless *atomic.Int32
	answers *atomic.Int32
}

func (c *timed) SetWriteDeadline(at time.Time) error {
	c.bounded.Store(!at.IsZero())
	return c.Conn.SetWriteDeadline(at)
}

func (c *timed) SetDeadline(at time.Time) error {
	c.bounded.Store(!at.IsZero())
	return c.Conn.SetDeadline(at)
}

func (c *timed) Write(text []byte) (int, error) {
	if c.answers.Add(1); !c.bounded.Load() {
		c.endless.Add(1)
	}
	return c.Conn.Write(text)
}

// A timing listener makes timed connections.
type timing struct {
	net.Listener
	endless, answers atomic.Int32
}

func (l *timing) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &timed{Conn: c, endless: &l.endless, answers: &l.answers}, nil
}

// Each answer has a time limit, refusals as well: a client without the token that takes no answers
// would have its connection for ever, and 256 of them all that there are.
func TestNoAnswerWaitsForEver(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, opt := &timing{Listener: inner}, options{token: "0123456789abcdef"}
	s, _ := sampler(t, opt, healthy())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, newHandler(s, opt), t.Logf) }()
	for _, request := range []string{
		"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer 0123456789abcdef\r\nConnection: close\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, request+request)
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := io.ReadAtLeast(conn, make([]byte, 64), 12); err != nil {
			t.Errorf("%d bytes of an answer: %v", n, err)
		}
		_ = conn.Close()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if l.answers.Load() == 0 || l.endless.Load() > 0 {
		t.Errorf("%d of %d answers may wait for ever", l.endless.Load(), l.answers.Load())
	}
}

// Clients leave no line in the log, and what the server says of itself arrives there.
func TestClientsFillNoLog(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate
	defer other.Close()
	lines := make(chan string, 16)
	logf := func(format string, args ...any) { lines <- fmt.Sprintf(format, args...) }
	broken := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a defect") })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, tls.NewListener(inner, other.TLS), broken, logf) }()
	for _, text := range []string{"", "SSH-2.0-scan\r\n"} {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text)
		if text == "" {
			_ = conn.(*net.TCPConn).CloseWrite() // as one that only connects
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		_, _ = io.Copy(io.Discard, conn) // until the server has closed it
		_ = conn.Close()
	}
	if r, err := other.Client().Get("https://" + inner.Addr().String()); err == nil {
		_ = r.Body.Close()
		t.Error("the broken handler answers")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if line := <-lines; !strings.HasPrefix(line, "http: panic serving") {
		t.Errorf("the log begins with %q", line)
	}
}

// A header beyond the bound is refused before it is whole, and so are requests in the name of
// another site.
func TestHostileRequests(t *testing.T) {
	l := served(t, maxConnections)
	for name, c := range map[string]struct{ request, want string }{
		"large header":  {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 4*maxHeader) + "\r\n\r\n", "431"},
		"another site":  {"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"},
		"no host":       {"GET /metrics HTTP/1.0\r\n\r\n", "403"},
		"other method":  {"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", "405"},
		"two lengths":   {"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "400"},
		"out of a file": {"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "30"},
	} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, c.request) // the server may answer before it has read all
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		answer := make([]byte, 64)
		n, err := io.ReadAtLeast(conn, answer, len("HTTP/1.1 431"))
		if !strings.HasPrefix(string(answer[:n]), "HTTP/1.") || !strings.HasPrefix(string(answer[min(n, 9):n]), c.want) {
			t.Errorf("%s: %q, %v, want %s", name, answer[:n], err, c.want)
		}
		_ = conn.Close()
	}
}
