// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/zramfs/zramfs/tools/conform"
)

func theChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(filepath.Join(top, conform.Chart))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// helm lint says nothing but that the chart has no icon.
func TestLint(t *testing.T) {
	version, err := chartutil.ParseKubeVersion(kubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		for _, m := range lint.AllWithKubeVersion(filepath.Join(top, conform.Chart), e.values, namespace, version).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", e.file, m)
			}
		}
	}
}

// The committed manifests are what the chart renders to.
func TestManifestsAgree(t *testing.T) {
	digest, err := conform.Digest(filepath.Join(top, conform.Chart))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		want, err := manifest(theChart(t), digest, e)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(top, e.file)); err != nil || string(text) != want {
			t.Errorf("%s is not what the chart renders to (%v): run make charts", e.file, err)
		}
	}
}

// The schema of the values refuses what the templates would make nonsense of.
func TestSchemaOfValues(t *testing.T) {
	for want, values := range map[string]object{
		"onDelete":              {"onDelete": "never"},
		"additional properties": {"devise": object{}},
		"size":                  {"device": object{"size": "8Gi"}},
		"tokenSecret":           {"metrics": object{"enabled": true}},
		"digest":                {"image": object{"digest": "sha256:1"}},
		"updateStrategy":        {"updateStrategy": object{"type": "Recreate"}},
	} {
		if _, err := render(theChart(t), values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", values, err)
		}
	}
}

// The pod asks for the memory that the device may take.
func TestMemoryRequest(t *testing.T) {
	for limit, want := range map[string]string{"": "64Mi", "50%": "64Mi", "2G": "2112Mi", "512M": "576Mi", "1025K": "66Mi", "1T": "1048640Mi", "1073741825": "1089Mi"} {
		objects, err := render(theChart(t), object{"device": object{"memLimit": limit}})
		if err != nil || !strings.Contains(strings.Join(objects, ""), "memory: "+want+"\n") {
			t.Errorf("%s: no %s, %v", limit, want, err)
		}
	}
}

// A value of the chart that no template has would do nothing.
func TestEveryValueIsUsed(t *testing.T) {
	c := theChart(t)
	var text strings.Builder
	for _, f := range c.Templates {
		text.Write(f.Data)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		group, ok := c.Values[name].(map[string]any)
		if !ok || !strings.Contains(text.String(), ".Values."+name+".") {
			if !strings.Contains(text.String(), ".Values."+name) {
				t.Errorf("no template has .Values.%s", name)
			}
			continue
		}
		for key := range group {
			if !strings.Contains(text.String(), ".Values."+name+"."+key) {
				t.Errorf("no template has .Values.%s.%s", name, key)
			}
		}
	}
}
