// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	page := filepath.Join(t.TempDir(), "criteria.md")
	if err := os.WriteFile(page, []byte("# Claims\n\n| F001 | claim | `TestF001*` | open: new |\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	passes := `{"Action":"pass","Package":"a","Test":"TestF001LZ4"}`
	for _, step := range []struct {
		judges     bool
		in, prints string
	}{
		{true, "", "^(TestF001)\n"},
		{false, "", "no state changed\n"},
		{false, passes, "changed: F001\n"},
		{false, passes, "no state changed\n"},
	} {
		var out strings.Builder
		if err := run(page, step.judges, strings.NewReader(step.in), &out); err != nil || out.String() != step.prints {
			t.Errorf("%+v: prints %q, %v", step, out.String(), err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil || string(text) != "# Claims\n\n| F001 | claim | `TestF001*` | survived |\n" {
		t.Errorf("the page is %q, %v", text, err)
	}
	if err := run(page+".missing", false, strings.NewReader(""), &strings.Builder{}); err == nil {
		t.Error("a missing page is no error")
	}
}
