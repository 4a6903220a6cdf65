// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// A podsOf is a cluster that has a pod with these arguments, for the function lookup of templates.
type podsOf struct {
	dynamic.NamespaceableResourceInterface
	args []any
}

func (p podsOf) GetClientFor(string, string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return p, true, nil
}

func (p podsOf) Namespace(string) dynamic.ResourceInterface { return p }

func (p podsOf) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	pod := unstructured.Unstructured{Object: object{"spec": object{"containers": []any{object{"args": p.args}}}}}
	return &unstructured.UnstructuredList{Object: object{}, Items: []unstructured.Unstructured{pod}}, nil
}

// Pods that turn swap off where their rights are gone keep these while a rollout to onDelete keep
// ends them one after the other.
func TestRightsOfRunningPods(t *testing.T) {
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 2, IsUpgrade: true}
	for arg, has := range map[string]bool{"--on-delete=swapoff": true, "--on-delete=keep": false} {
		c := theChart(t)
		values, err := chartutil.ToRenderValues(c, object{"onDelete": "keep"}, options, nil)
		if err != nil {
			t.Fatal(err)
		}
		files, err := engine.RenderWithClientProvider(c, values, podsOf{args: []any{"--dir=/run/zram", arg}})
		if err != nil {
			t.Fatal(err)
		}
		rights := files["zramfs/templates/rbac.yaml"]
		for _, kind := range []string{"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"} {
			if strings.Contains(rights, "\nkind: "+kind+"\n") != has {
				t.Errorf("%s in the cluster, %s: want %v in\n%s", arg, kind, has, rights)
			}
		}
		if asks := strings.Contains(files["zramfs/templates/daemonset.yaml"], "automountServiceAccountToken: true"); asks {
			t.Errorf("%s in the cluster: a pod that keeps swap has a token", arg)
		}
	}
}
