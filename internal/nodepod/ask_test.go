// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zramfs/zramfs/internal/kubeapi"
)

// apiServer starts an API server that answers questions for the pod with these codes, the last one
// again and again, and all others. It has the objects of a pod that was deleted.
func apiServer(t *testing.T, codes ...int) *kubeapi.Client {
	t.Helper()
	p, d, n := objects()
	asked := atomic.Int32{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var object any = p
		switch {
		case strings.Contains(r.URL.Path, "/pods/"):
			if code := codes[min(int(asked.Add(1)), len(codes))-1]; code != http.StatusOK {
				w.WriteHeader(code)
				return
			}
		case strings.Contains(r.URL.Path, "/nodes/"):
			object = n
		default:
			object = d
		}
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return clientOf(t, s)
}

// clientOf returns a client of a server that plays one of a cluster.
func clientOf(t *testing.T, s *httptest.Server) *kubeapi.Client {
	t.Helper()
	authority, token := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "token")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := errors.Join(os.WriteFile(authority, text, 0o600), os.WriteFile(token, []byte("token"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := kubeapi.New(s.URL, token, authority)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Rights are gone where the API server refuses every time: one that has just started, or whose
// authorizer is away, refuses too.
func TestAskRefused(t *testing.T) {
	const away, refused, unknown, good = http.StatusServiceUnavailable, http.StatusForbidden, http.StatusUnauthorized, http.StatusOK
	for _, c := range []struct {
		codes []int
		goes  bool
		why   string // of the verdict, or the error
	}{
		{[]int{good}, false, "make another pod"},
		{[]int{refused, unknown, refused, refused, good}, false, "make another pod"},
		{[]int{away, away, away, away, refused, good}, false, "make another pod"},
		{[]int{refused, refused, refused, refused, away, refused, good}, false, "make another pod"},
		{[]int{away, http.StatusTooManyRequests, refused}, true, "the rights of the service account are gone"},
		{[]int{unknown}, true, "the rights of the service account are gone"},
		{[]int{http.StatusNotFound}, false, "no such object"},
		{slices.Repeat([]int{refused, away}, askTries), false, "503"},
	} {
		o := options{namespace: "zramfs-system", pod: "zramfs-x", node: "node-1"}
		v, err := o.ask(t.Context(), apiServer(t, c.codes...), 0)
		if why := v.why + text(err); v.goes != c.goes || !strings.Contains(why, c.why) {
			t.Errorf("%d: %+v, %v", c.codes, v, err)
		}
	}
}
