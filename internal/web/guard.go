// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"time"
)

// policy lets the page use nothing but this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard lets requests through that may be answered. The connections of others end with the refusal:
// a client without the token could keep all that there are by a request a minute on each.
func guard(opt options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case opt.token != "" && !authentic(r, opt.token):
			h.Set("Connection", "close")
			h.Set("WWW-Authenticate", `Basic realm="zramfs: any user name, and the token as password", charset="UTF-8"`)
			http.Error(w, "a token is needed", http.StatusUnauthorized)
		case opt.token == "" && !local(r.Host):
			h.Set("Connection", "close")
			// A page of another site whose name was made to point here would be this origin.
			http.Error(w, "this server answers to localhost and loopback addresses only", http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		default:
			// A connection without deadlines fails on its own.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
			next.ServeHTTP(w, r)
		}
	})
}

// local reports whether the Host header of a request names this machine's loopback.
func local(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// authentic reports whether a request has the token, as Bearer or as the password of Basic. The
// time that it takes does not tell how much of the token is right.
func authentic(r *http.Request, token string) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, ok = r.BasicAuth()
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && ok
}
