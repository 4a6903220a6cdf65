// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// server answers as an API server does for the node node-1, to the token "secret".
func server(t *testing.T) (*Client, string) {
	t.Helper()
	pods, err := os.ReadFile("../podswap/testdata/pods.json")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			http.Error(w, `{"kind":"Status","code":401}`, http.StatusUnauthorized)
		case r.URL.Path == "/api/v1/pods" && r.URL.Query().Get("fieldSelector") == "spec.nodeName=node-1" && r.URL.Query().Get("watch") == "true":
			fmt.Fprintln(w, `{"type":"ADDED","object":{"kind":"Pod"}}`)
			fmt.Fprintln(w, `{"type":"MODIFIED","object":{"kind":"Pod"}}`)
		case r.URL.Path == "/api/v1/pods" && r.URL.Query().Get("fieldSelector") == "spec.nodeName=node-1":
			_, _ = w.Write(pods)
		case r.URL.Path == "/api/v1/pods":
			fmt.Fprintln(w, `{"type":"ERROR","object":{"code":410}}`)
		case r.URL.Path == "/api/v1/nodes/node-1/proxy/configz":
			fmt.Fprint(w, `{"kubeletconfig":{"failSwapOn":false}}`)
		default:
			http.Error(w, `{"kind":"Status","code":403}`, http.StatusForbidden)
		}
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	token, authority := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := errors.Join(os.WriteFile(token, []byte("secret\n"), 0o600), os.WriteFile(authority, certificate, 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := New(s.URL, token, authority)
	if err != nil {
		t.Fatal(err)
	}
	return c, token
}

func TestClient(t *testing.T) {
	c, token := server(t)
	if pods, err := c.Pods(t.Context(), "node-1"); err != nil || len(pods) != 5 {
		t.Errorf("%d pods, %v", len(pods), err)
	}
	changes := 0
	if err := c.WatchPods(t.Context(), "node-1", func() { changes++ }); err != nil || changes != 2 {
		t.Errorf("%d changes, %v", changes, err)
	}
	if err := c.WatchPods(t.Context(), "node-2", func() {}); err == nil || !strings.Contains(err.Error(), "ended it") {
		t.Error(err)
	}
	if s, err := c.Configz(t.Context(), "node-1"); err != nil || s.FailSwapOn {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := c.Configz(t.Context(), "a/../b"); !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
	if err := os.WriteFile(token, []byte("old"), 0o600); err != nil { // the token is read for each request
		t.Fatal(err)
	}
	if _, err := c.Pods(t.Context(), "node-1"); !errors.Is(err, ErrUnauthorized) {
		t.Error(err)
	}
}

func TestClientTrustsItsAuthorityAlone(t *testing.T) {
	c, token := server(t)
	other := httptest.NewTLSServer(http.NotFoundHandler())
	defer other.Close()
	c.base = strings.Replace(other.URL, "127.0.0.1", "localhost", 1) // a name that the certificate has not
	if _, err := c.Pods(t.Context(), "node-1"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	if _, err := New("https://x", token, token); err == nil || !strings.Contains(err.Error(), "has no certificate") {
		t.Error(err)
	}
}
