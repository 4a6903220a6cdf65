// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/internal/cluster"
	"github.com/zramfs/zramfs/tools/conform"
)

// programsVariable names the directory of kube-apiserver.
const programsVariable = "ZRAMFS_KUBERNETES"

// groups have the kinds whose schemas we commit.
var groups = []string{"api/v1", "apis/apps/v1", "apis/rbac.authorization.k8s.io/v1", "apis/admissionregistration.k8s.io/v1", "apis/networking.k8s.io/v1"}

// operatorGroup is that of kinds which the API server does not have: they come with the Prometheus
// operator.
const operatorGroup = "monitoring.coreos.com/"

// running is the API server of all tests, which ends with them.
var running = sync.OnceValues(func() (*cluster.Cluster, error) {
	dir, err := os.MkdirTemp("", "zramfs-charttest-")
	if err != nil {
		return nil, err
	}
	return cluster.Start(os.Getenv(programsVariable), dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(programsVariable) != "" {
		if c, err := running(); err == nil {
			if err := errors.Join(c.Stop(), os.RemoveAll(c.Dir)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

func server(t *testing.T) *cluster.Cluster {
	t.Helper()
	if os.Getenv(programsVariable) == "" {
		t.Skipf("%s does not name a directory with kube-apiserver: run make test-kubernetes", programsVariable)
	}
	c, err := running()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// objectsOf returns the objects of a rendering that the API server knows.
func objectsOf(t *testing.T, text string) (known []cluster.Object, operator int) {
	t.Helper()
	all, err := cluster.Objects(text, namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if strings.HasPrefix(o.Version, operatorGroup) {
			operator++
			continue
		}
		known = append(known, o)
	}
	return known, operator
}

// further are values that no committed manifest is made of.
var further = []object{
	{},
	{"onDelete": "swapoff"},
	{"startupTaint": object{"enabled": true, "policy": false}},
	{"limitedSwap": object{"enabled": true}},
	{"metrics": object{"enabled": true, "tokenSecret": object{"name": "t"}}, "networkPolicy": object{"enabled": true}},
	{"nodeProblemDetector": object{"enabled": true}, "criticalPodsQuota": true},
	{"nodeSelector": object{"pool": "swap"}, "updateStrategy": object{"type": "OnDelete", "rollingUpdate": nil}, "affinity": object{}, "tolerations": []any{}},
	{"fullnameOverride": "other", "image": object{"tag": "v2"}, "resources": object{"requests": object{"memory": "1Gi"}, "limits": object{"memory": "2Gi"}}},
}

// The API server takes each object of each rendering, with validation of all fields, first without
// keeping it. Applied again, the committed ones change nothing.
func TestServerTakesChart(t *testing.T) {
	c := server(t)
	dry, kept := 0, 0
	apply := func(about, text string, dryRun bool) {
		objects, _ := objectsOf(t, text)
		for _, o := range objects {
			// A namespace is kept, for the objects in it.
			if err := c.Apply(o, dryRun && o.Kind != "Namespace"); err != nil {
				t.Errorf("%s: %v", about, err)
			}
			if dryRun {
				dry++
			} else {
				kept++
			}
		}
	}
	for _, dryRun := range []bool{true, false, false} {
		for _, e := range examples {
			text, err := os.ReadFile(filepath.Join(top, e.file))
			if err != nil {
				t.Fatal(err)
			}
			apply(e.file, string(text), dryRun)
		}
	}
	for _, values := range further {
		objects, err := render(theChart(t), values)
		if err != nil {
			t.Fatal(err)
		}
		apply(fmt.Sprint(values), strings.Join(objects, "---\n"), true)
	}
	t.Logf("%d objects tried, %d applied", dry, kept)
	if dry < 40 || kept < 40 {
		t.Error("these are few")
	}
}

// The API server refuses what is wrong in a rendering: it validates.
func TestServerRefuses(t *testing.T) {
	c := server(t)
	text, err := os.ReadFile(filepath.Join(top, "tools/conform/testdata/everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for old, fresh := range map[string]string{
		"hostPID: true":                                       "hostPid: true",
		"type: RollingUpdate":                                 "type: Sometimes",
		"validationActions: [Deny]":                           "validationActions: [Refuse]",
		"object.metadata.?labels ==":                          "object.metadata.?labels =",
		"priorityClassName: system-node-critical\n      term": "priorityClassName: system_node\n      term",
		"verbs: [list, watch]":                                "verbs: []",
	} {
		changed := strings.Replace(string(text), old, fresh, 1)
		if changed == string(text) {
			t.Fatalf("no %q in it", old)
		}
		objects, _ := objectsOf(t, changed)
		var errs []error
		for _, o := range objects {
			if err := c.Apply(o, o.Kind != "Namespace"); err != nil {
				errs = append(errs, err)
			}
		}
		var refused *cluster.Refused
		if len(errs) != 1 || !errors.As(errs[0], &refused) || refused.Code != http.StatusUnprocessableEntity && refused.Code != http.StatusBadRequest && refused.Code != http.StatusInternalServerError {
			t.Errorf("%s: %v", fresh, errs)
		}
	}
}

// The committed schemas are those of this API server, byte for byte.
func TestSchemasAreTheServers(t *testing.T) {
	c := server(t)
	documents, err := c.Documents(groups...)
	if err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), conform.SchemaFile)
	if err := conform.WriteSchemas(fresh, documents); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("../conform", conform.SchemaFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		keep := filepath.Join(os.TempDir(), conform.SchemaFile)
		t.Errorf("tools/conform/%s is not what %s has: that is in %s, %v", conform.SchemaFile, kubernetesVersion, keep, os.WriteFile(keep, got, 0o644))
	}
	version, err := c.Do(http.MethodGet, "/version", "", nil)
	minor := strings.Split(kubernetesVersion, ".")[1]
	if err != nil || !bytes.Contains(version, []byte(`"minor": "`+minor+`"`)) {
		t.Errorf("the version of the API server is not %s: %s, %v", kubernetesVersion, version, err)
	}
}
