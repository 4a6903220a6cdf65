// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A cluster has one node, and refuses a change of another version of it as an API server does.
type cluster struct {
	version int
	taints  []map[string]any
	rivals  int // changes that others make after the node was read
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/api/v1/nodes/node-1":
		http.NotFound(w, r)
	case r.Method == http.MethodGet:
		fmt.Fprintf(w, `{"metadata":{"name":"node-1","resourceVersion":"%d"},"spec":{"unschedulable":true,"taints":%s}}`, c.version, marshal(c.taints))
		if c.rivals > 0 {
			c.rivals--
			c.version++
			c.taints = append(c.taints, map[string]any{"key": fmt.Sprint("rival-", c.rivals), "effect": "NoExecute"})
		}
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") == "application/merge-patch+json":
		var patch struct {
			Metadata struct{ ResourceVersion string }
			Spec     struct{ Taints []map[string]any }
		}
		text, err := io.ReadAll(r.Body)
		if err := errors.Join(err, json.Unmarshal(text, &patch)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		} else if patch.Metadata.ResourceVersion != fmt.Sprint(c.version) {
			http.Error(w, "{}", http.StatusConflict)
		} else {
			c.version, c.taints = c.version+1, patch.Spec.Taints
			fmt.Fprint(w, "{}")
		}
	}
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func (c *cluster) client(t *testing.T) *Client {
	t.Helper()
	s := httptest.NewTLSServer(c)
	t.Cleanup(s.Close)
	dir := t.TempDir()
	token, authority := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := errors.Join(os.WriteFile(token, []byte("secret\n"), 0o600), os.WriteFile(authority, certificate, 0o600)); err != nil {
		t.Fatal(err)
	}
	client, err := New(s.URL, token, authority)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Taints that others set while one is removed stay, with all that they have.
func TestRemoveTaint(t *testing.T) {
	const key = "zramfs.io/not-ready"
	c := &cluster{version: 1, rivals: 2, taints: []map[string]any{{"key": "a", "effect": "NoSchedule", "timeAdded": "2026-11-24T02:00:00Z"}, {"key": key, "effect": "NoSchedule"}, {"key": key, "effect": "NoExecute"}}}
	client := c.client(t)
	if removed, err := client.RemoveTaint(t.Context(), "node-1", key); err != nil || !removed {
		t.Fatal(removed, err)
	}
	var keys []string
	for _, taint := range c.taints {
		keys = append(keys, taint["key"].(string))
	}
	if !slices.Equal(keys, []string{"a", "rival-1", "rival-0"}) || c.taints[0]["timeAdded"] == nil {
		t.Errorf("the taints are %v", c.taints)
	}
	version := c.version
	if removed, err := client.RemoveTaint(t.Context(), "node-1", key); err != nil || removed || c.version != version {
		t.Errorf("the second time: %v, %v, version %d", removed, err, c.version)
	}
	c.rivals, c.taints = 100, []map[string]any{{"key": key}}
	if _, err := client.RemoveTaint(t.Context(), "node-1", key); !errors.Is(err, ErrConflict) {
		t.Errorf("a node that always changes: %v", err)
	}
	if _, err := client.Node(t.Context(), "node-2"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if n, err := client.Node(t.Context(), "node-1"); err != nil || !n.Spec.Unschedulable || n.Metadata.Name != "node-1" {
		t.Errorf("%+v, %v", n, err)
	}
}
