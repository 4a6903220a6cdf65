// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/zramfs/zramfs/internal/chronicle"
	"github.com/zramfs/zramfs/internal/safeopen"
)

// The time limits of the server. An open page is one answer without an end, whose parts each have
// answerTime.
const (
	headerTime = 5 * time.Second
	idleTime   = time.Minute
	answerTime = 15 * time.Second
	endTime    = 2 * time.Second
	maxHeader  = 16 << 10
)

// Serve serves until ctx ends, and says on w where. Errors in o wrap ErrUsage.
func Serve(ctx context.Context, o Config, w io.Writer) (err error) {
	opt, err := check(o)
	if err != nil {
		return err
	}
	logf := func(format string, args ...any) {
		// A log that cannot be written is lost.
		_, _ = fmt.Fprintf(w, "zramfs serve: "+format+"\n", args...)
	}
	l, err := listen(ctx, opt)
	if err != nil {
		return err
	}
	logf("dashboard on %s", opt.url(l.Addr()))
	if opt.token != "" && opt.cert == "" && !opt.loopback {
		logf("the token crosses the network unencrypted: give --tls-cert and --tls-key")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	sampler := NewSampler(chronicle.New(), o.Build, logf)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sampler.Run(ctx)
	}()
	err = serve(ctx, l, newHandler(sampler, opt), logf)
	stop()
	<-ended
	return err
}

func listen(ctx context.Context, opt options) (net.Listener, error) {
	var lc net.ListenConfig
	inner, err := lc.Listen(ctx, "tcp", opt.address)
	if err != nil {
		return nil, err
	}
	l := &bounded{Listener: inner, most: maxConnections}
	if opt.cert == "" {
		return l, nil
	}
	pair, err := keyPair(opt)
	if err != nil {
		return nil, errors.Join(usagef("serve: --tls-cert, --tls-key: %v", err), l.Close())
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), nil
}

// keyPair reads the certificate and its key.
func keyPair(opt options) (tls.Certificate, error) {
	cert, err := safeopen.Read(opt.cert, maxFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := safeopen.Read(opt.key, maxFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// url is the dashboard's address.
func (o options) url(a net.Addr) string {
	scheme := "http"
	if o.cert != "" {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s/", scheme, a)
}

// A serverLog gets the lines of the HTTP server, but for those on connections that do not become
// any of TLS: each of a scan of ports, and of a load balancer that looks whether the port is open,
// would leave one, and a client without the token could fill the log.
type serverLog func(format string, args ...any)

// Write implements io.Writer.
func (l serverLog) Write(line []byte) (int, error) {
	if !bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		l("%s", bytes.TrimSpace(line))
	}
	return len(line), nil
}

// serve answers requests until ctx ends. Open pages end with it.
func serve(ctx context.Context, l net.Listener, h http.Handler, logf serverLog) error {
	// A client that takes no answers would have its connection for ever, also without the token.
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: answerTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(logf, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		return server.Close()
	}
	return nil
}
