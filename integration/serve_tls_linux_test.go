// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// serveToken is the token of the tests.
const serveToken = "a token of twenty-nine characters"

// certificate writes a certificate for 127.0.0.1 and its key, and returns who trusts it.
func certificate(t *testing.T, dir string) (cert, key string, trusted *x509.CertPool) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted = x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return cert, key, trusted
}

// startServing starts zramfs serve on all addresses, which ends with the test, and returns its port
// and what it says.
func startServing(t *testing.T, flags ...string) (port string) {
	t.Helper()
	cmd := command(t, append([]string{"serve", "--listen", "0.0.0.0:0"}, flags...)...)
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	line, err := bufio.NewReader(says).ReadString('\n')
	m := regexp.MustCompile(`dashboard on https://\S+:(\d+)/`).FindStringSubmatch(line)
	if err != nil || m == nil {
		t.Fatalf("serve says %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, says) }() // until it ends
	return m[1]
}

// TestServeTLS: serve answers over TLS to a client with the token, and to no other.
func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key, trusted := certificate(t, dir)
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(serveToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	port := startServing(t, "--token-file", token, "--tls-cert", cert, "--tls-key", key)
	client := &http.Client{Timeout: answerTimeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}}
	strangers := &http.Client{Timeout: answerTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(path string, authorize func(*http.Request)) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+port+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		authorize(r)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.TLS == nil || answer.TLS.Version < tls.VersionTLS12 {
			t.Errorf("%s: %v over %+v", path, err, answer.TLS)
		}
		return answer.StatusCode, string(text)
	}
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	for _, path := range []string{"/", "/metrics", "/healthz", "/api/now", "/api/history?range=10m", "/api/events", "/app.js"} {
		for what, authorize := range map[string]func(*http.Request){
			"no token": func(*http.Request) {}, "a wrong token": bearer(strings.ToUpper(serveToken)), "the token's beginning": bearer(serveToken[:20]),
			"the token as user": func(r *http.Request) { r.SetBasicAuth(serveToken, "") },
		} {
			if code, text := ask(path, authorize); code != http.StatusUnauthorized || strings.Contains(text, "zramfs_") {
				t.Errorf("%s with %s: %d %.80s", path, what, code, text)
			}
		}
	}
	for what, authorize := range map[string]func(*http.Request){
		"a bearer": bearer(serveToken), "a password": func(r *http.Request) { r.SetBasicAuth("anyone", serveToken) },
	} {
		if code, text := ask("/metrics", authorize); code != http.StatusOK || !strings.Contains(text, "zramfs_build_info{") {
			t.Errorf("the token as %s: %d %.80s", what, code, text)
		}
	}
	if answer, err := strangers.Get("https://127.0.0.1:" + port + "/metrics"); err == nil {
		t.Errorf("who does not know the certificate gets %s", answer.Status)
	} else if unknown := new(x509.UnknownAuthorityError); !errors.As(err, unknown) {
		t.Errorf("the handshake ended with %v", err)
	}
	if answer, err := strangers.Get("http://127.0.0.1:" + port + "/metrics"); err != nil {
		t.Errorf("over plain HTTP it does not say what is wrong: %v", err)
	} else if closed := answer.Body.Close(); answer.StatusCode != http.StatusBadRequest || closed != nil {
		t.Errorf("over plain HTTP it answers %s, %v", answer.Status, closed)
	}
	if c, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{RootCAs: trusted, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Errorf("it talks TLS 1.1: %v", c.Close())
	}
}

// TestServeRefuses: an address that others reach is not listened on without token or half of what
// TLS needs.
func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	cert, key, _ := certificate(t, dir)
	token, open := filepath.Join(dir, "token"), filepath.Join(dir, "open")
	for path, mode := range map[string]os.FileMode{token: 0o600, open: 0o644} {
		if err := os.WriteFile(path, []byte(serveToken), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		flags []string
		says  string
	}{
		{nil, "--token-file"}, {[]string{"--tls-cert", cert, "--tls-key", key}, "--token-file"}, {[]string{"--token-file", open}, "chmod 600"},
		{[]string{"--token-file", token, "--tls-cert", cert}, "--tls-key"}, {[]string{"--token-file", token, "--tls-cert", key, "--tls-key", cert}, "--tls-"},
	} {
		for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
			r := run(t, commandTimeout, append([]string{"serve", "--listen", address}, c.flags...)...)
			if r.Code != 2 || !strings.Contains(r.Stderr, c.says) {
				t.Errorf("%s with %q: exit code %d, %q; want 2, %q in it", address, c.flags, r.Code, r.Stderr, c.says)
			}
		}
	}
}
