// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
)

const top = "../.."

// manifests are all that charttest render writes.
func manifests(t *testing.T) (paths []string) {
	t.Helper()
	examples, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(examples) < 2 {
		t.Fatal(examples, err)
	}
	return append(examples, filepath.Join(top, "dist/kubernetes/zramfs.yaml"))
}

// check returns what kubeconform says against a manifest, and the number of objects.
func check(t *testing.T, name string, text []byte) (errs []string, objects int) {
	t.Helper()
	dir := t.TempDir()
	if err := unpack(SchemaFile, dir); err != nil {
		t.Fatal(err)
	}
	v, err := validator.New([]string{dir + "/{{ .ResourceKind }}.json"}, validator.Opts{Strict: true,
		SkipKinds: map[string]struct{}{"PodMonitor": {}, "PrometheusRule": {}}}) // of the Prometheus operator
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range v.Validate(name, io.NopCloser(bytes.NewReader(text))) {
		switch r.Status {
		case validator.Valid, validator.Skipped:
			objects++
		case validator.Empty:
		default:
			signature, _ := r.Resource.Signature()
			errs = append(errs, signature.Kind+": "+r.Err.Error())
		}
	}
	return errs, objects
}

// The manifests are from the chart as it is, and an API server knows all of their fields.
func TestManifestsConform(t *testing.T) {
	digest, err := Digest(filepath.Join(top, Chart))
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, path := range manifests(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("# "+digest+"\n")) {
			t.Errorf("%s is not from the chart as it is: run make charts", path)
		}
		errs, objects := check(t, path, text)
		for _, err := range errs {
			t.Errorf("%s: %s", path, err)
		}
		total += objects
	}
	if total < 20 {
		t.Errorf("%d objects are few", total)
	}
}

// The schemas find what an API server refuses.
func TestSchemasRefuse(t *testing.T) {
	text, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for old, fresh := range map[string]string{
		"hostPID: true":                      "hostPid: true",
		"terminationGracePeriodSeconds: 900": "terminationGracePeriodSeconds: long",
		"  validationActions: [Deny]":        "  validationActions: Deny",
		"verbs: [list, watch]":               "verb: [list, watch]",
	} {
		changed := strings.Replace(string(text), old, fresh, 1)
		if changed == string(text) {
			t.Fatalf("no %q in it", old)
		}
		if errs, _ := check(t, "changed", []byte(changed)); len(errs) != 1 {
			t.Errorf("%s: %q", fresh, errs)
		}
	}
}

// Files that the chart has from elsewhere are the same there.
func TestFilesOfTheChart(t *testing.T) {
	for _, name := range []string{"zramfs.sh", "zramfs.json"} {
		ours, err := os.ReadFile(filepath.Join(top, Chart, "files", name))
		if err != nil {
			t.Fatal(err)
		}
		if theirs, err := os.ReadFile(filepath.Join(top, "dist/node-problem-detector", name)); err != nil || !bytes.Equal(ours, theirs) {
			t.Errorf("%s differs from that of dist/node-problem-detector (%v): run make charts", name, err)
		}
	}
}
