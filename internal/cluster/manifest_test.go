// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"slices"
	"testing"
)

// Objects of the manifest with every option have the paths that an API server has them at.
func TestPathsOfObjects(t *testing.T) {
	text, err := os.ReadFile("../../tools/conform/testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Objects(string(text), "zramfs-system")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, o := range objects {
		paths = append(paths, o.Path())
	}
	const (
		core   = "/api/v1/namespaces/zramfs-system"
		rights = "/apis/rbac.authorization.k8s.io/v1"
	)
	for _, want := range []string{core, core + "/serviceaccounts/zramfs", core + "/configmaps/zramfs-extra", core + "/resourcequotas/zramfs",
		"/apis/apps/v1/namespaces/zramfs-system/daemonsets/zramfs", rights + "/clusterroles/zramfs", rights + "/namespaces/zramfs-system/rolebindings/zramfs",
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/zramfs", "/apis/networking.k8s.io/v1/namespaces/zramfs-system/networkpolicies/zramfs"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not among %q", want, paths)
		}
	}
	if _, err := Objects("kind: Namespace\nmetadata:\n  name: x\n", ""); err == nil {
		t.Error("an object without apiVersion is taken")
	}
}
