// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/zramfs/zramfs/internal/require"
)

// The output of commands with --json is valid by docs/json.schema.json.
func TestJSONIsOfItsSchema(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	text, err := os.ReadFile("../docs/json.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	dir, file := mount(t, "--size", "64M"), filepath.Join(t.TempDir(), "file")
	system(t, commandTimeout, "dd", "if="+binary(t), "of="+data(dir), "bs=1M", "count=4", "conv=notrunc,fsync", "status=none")
	for _, line := range []string{
		"status DIR", "list --output-all", "doctor", "top -b -d 0.1 -n 1 DIR", "metrics", "version", "verify DIR", "trace DIR", "events DIR", "compact DIR",
		"idle DIR", "export DIR FILE", "snapshot save DIR FILE.pages", "snapshot inspect FILE.pages", "import --force FILE DIR", "upgrade DIR", "umount DIR",
		"config show", "estimate --file FILE", "bench codec --generated --seconds 1 --algorithm lz4",
	} {
		args := append(strings.Fields(strings.NewReplacer("DIR", dir, "FILE", file).Replace(line)), "-J")
		name := args[0]
		if name == "bench" || name == "snapshot" {
			name += "-" + args[1]
		}
		schema.Ref = "#/$defs/" + name
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		out := run(t, commandTimeout, args...).Stdout
		var printed map[string]any
		if err := json.Unmarshal([]byte(out), &printed); err != nil {
			t.Errorf("%s: %v in %s", name, err, out)
		} else if err := resolved.Validate(printed); err != nil {
			t.Errorf("%s: %v in %s", name, err, out)
		}
	}
}
