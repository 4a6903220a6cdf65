// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/monitor"
	"github.com/zramfs/zramfs/cmd/zramfs/regular"
)

// DefaultHistory is the file of the history unless one is named.
const DefaultHistory = "/var/lib/zramfs/history"

// maxFile is the most that a file of the command line may hold, in bytes.
const maxFile = 1 << 20

// leastToken is the least number of characters of a token.
const leastToken = 16

// options are an order's, checked.
type options struct {
	address   string
	loopback  bool
	token     string // empty for none
	cert, key string // files; empty without TLS
}

// check returns the options of an order. Errors wrap monitor.ErrUsage.
func check(o monitor.Order) (options, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	if err == nil && port != "" {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" {
		return options{}, monitor.Usagef("serve: --listen %q: want HOST:PORT, as 127.0.0.1:9633", o.Listen)
	}
	ip := net.ParseIP(host)
	opt := options{address: o.Listen, loopback: host == "localhost" || ip != nil && ip.IsLoopback(), cert: o.TLSCert, key: o.TLSKey}
	if (opt.cert == "") != (opt.key == "") {
		return options{}, monitor.Usagef("serve: --tls-cert and --tls-key go together")
	}
	if o.TokenFile != "" {
		if opt.token, err = readToken(o.TokenFile); err != nil {
			return options{}, err
		}
	}
	if !opt.loopback && opt.token == "" {
		return options{}, monitor.Usagef("serve: --listen %s is reachable from other machines: give --token-file (and --tls-cert, --tls-key), or listen on 127.0.0.1", o.Listen)
	}
	return opt, nil
}

// readToken reads the token, the first line of a file that only its owner may read.
func readToken(path string) (string, error) {
	f, err := regular.OpenOwn(path, os.O_RDONLY)
	if err != nil {
		return "", monitor.Usagef("serve: --token-file: %v", err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s can be read by others: chmod 600 %[1]s", path)
	}
	text, failed := regular.ReadFrom(f, maxFile)
	if err = errors.Join(err, failed); err != nil {
		return "", monitor.Usagef("serve: --token-file: %v", err)
	}
	token, _, _ := strings.Cut(string(text), "\n")
	if token = strings.TrimSpace(token); len(token) < leastToken {
		return "", monitor.Usagef("serve: --token-file %s: the token has %d characters, at least %d are needed: head -c 24 /dev/urandom | base64 > %[1]s",
			path, len(token), leastToken)
	}
	return token, nil
}

// historyPath is the file of the history, and whether the command line named it.
func historyPath(o monitor.Order) (path string, named bool, err error) {
	if o.History == "" {
		return DefaultHistory, false, nil
	}
	path, err = filepath.Abs(o.History)
	if err != nil {
		return "", true, errors.Join(fmt.Errorf("the history %s", o.History), err)
	}
	return path, true, nil
}
