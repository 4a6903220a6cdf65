// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"strings"
	"testing"
)

// decodeJSON reads what a command has printed with --json: an object that begins with its schema,
// and whose other members are those of v.
func decodeJSON(t *testing.T, text string, v any) {
	t.Helper()
	begin := "{\n   " + schemaMember + ",\n"
	rest, ok := strings.CutPrefix(text, begin)
	if !ok {
		t.Fatalf("it does not begin with %q: %s", begin, text)
	}
	d := json.NewDecoder(strings.NewReader("{" + rest))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// Only objects have a schema: anything else is an error of the program.
func TestPrintJSONWantsAnObject(t *testing.T) {
	for _, v := range []any{[]int{1}, struct{}{}, 7, map[string]any{"a": func() {}}} {
		if err := printJSON(&strings.Builder{}, v); err == nil {
			t.Errorf("%v has no error", v)
		}
	}
}
