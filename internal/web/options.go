// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/safeopen"
)

// maxFile is the most that a file of the command line may hold, in bytes.
const maxFile = 1 << 20

// leastToken is the least number of characters of a token.
const leastToken = 16

// A Config holds the options of Serve.
type Config struct {
	Listen    string        // host:port
	TokenFile string        // has the bearer token
	TLSCert   string        // PEM file
	TLSKey    string        // PEM file
	Build     monitor.Build // for metrics
}

// ErrUsage is wrapped by errors in a Config.
var ErrUsage = errors.New("wrong call")

// A usage error has a text of its own and wraps ErrUsage.
type usage struct{ text string }

func (u usage) Error() string { return u.text }
func (u usage) Unwrap() error { return ErrUsage }

// usagef returns an error that wraps ErrUsage and has only the given text.
func usagef(format string, args ...any) error { return usage{fmt.Sprintf(format, args...)} }

// options are those of a Config, checked.
type options struct {
	address   string
	loopback  bool
	token     string // empty for none
	cert, key string // files; empty without TLS
}

// check returns the options of a Config. Errors wrap ErrUsage.
func check(o Config) (options, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	if err == nil && port != "" {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" {
		return options{}, usagef("serve: --listen %q: want HOST:PORT, as 127.0.0.1:9633", o.Listen)
	}
	ip := net.ParseIP(host)
	opt := options{address: o.Listen, loopback: host == "localhost" || ip != nil && ip.IsLoopback(), cert: o.TLSCert, key: o.TLSKey}
	if (opt.cert == "") != (opt.key == "") {
		return options{}, usagef("serve: --tls-cert and --tls-key go together")
	}
	if o.TokenFile != "" {
		if opt.token, err = readToken(o.TokenFile); err != nil {
			return options{}, err
		}
	}
	if !opt.loopback && opt.token == "" {
		return options{}, usagef("serve: --listen %s is reachable from other machines: give --token-file (and --tls-cert, --tls-key), or listen on 127.0.0.1", o.Listen)
	}
	return opt, nil
}

// readToken reads the token, the first line of a file that only its owner may read.
func readToken(path string) (string, error) {
	f, err := safeopen.OpenOwn(path, os.O_RDONLY)
	if err != nil {
		return "", usagef("serve: --token-file: %v", err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s can be read by others: chmod 600 %[1]s", path)
	}
	text, failed := safeopen.ReadFrom(f, maxFile)
	if err = errors.Join(err, failed); err != nil {
		return "", usagef("serve: --token-file: %v", err)
	}
	token, _, _ := strings.Cut(string(text), "\n")
	if token = strings.TrimSpace(token); len(token) < leastToken {
		return "", usagef("serve: --token-file %s: the token has %d characters, at least %d are needed: head -c 24 /dev/urandom | base64 > %[1]s",
			path, len(token), leastToken)
	}
	return token, nil
}
