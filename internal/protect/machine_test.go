// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

func TestTimeouts(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		state status.State
		word  string
	}{
		{"kernel without them", nil, status.OK, ""},
		{"not set", map[string]string{"default_request_timeout": "0\n", "max_request_timeout": "0\n"}, status.OK, ""},
		{"default set", map[string]string{"default_request_timeout": "20\n", "max_request_timeout": "0\n"}, status.Fail,
			"default_request_timeout is 20 s"},
		{"maximum set", map[string]string{"default_request_timeout": "0\n", "max_request_timeout": "60\n"}, status.Fail,
			"max_request_timeout is 60 s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "proc/sys/fs/fuse")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := CheckTimeouts(host.Root(root))
			if p.State != test.state || !strings.Contains(p.Detail, test.word) || !p.Essential {
				t.Errorf("%+v, want %s and %q", p, test.state, test.word)
			}
		})
	}
}
