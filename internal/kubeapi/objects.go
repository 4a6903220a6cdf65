// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// Metadata is what counts here of the metadata of an object.
type Metadata struct {
	Name            string            `json:"name"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Deleted         *string           `json:"deletionTimestamp"` // nil unless the object is being deleted
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	Owners          []Owner           `json:"ownerReferences"`
}

// An Owner is an object that another one belongs to.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// A Pod is what counts here of a pod that asks about itself.
type Pod struct {
	Metadata Metadata `json:"metadata"`
}

// A DaemonSet is what counts here of a DaemonSet.
type DaemonSet struct {
	Metadata Metadata `json:"metadata"`
	Spec     struct {
		Template struct {
			Spec struct {
				NodeSelector map[string]string `json:"nodeSelector"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// A Node is what counts here of a node.
type Node struct {
	Metadata Metadata `json:"metadata"`
	Spec     struct {
		Unschedulable bool             `json:"unschedulable"`
		Taints        []map[string]any `json:"taints"` // with all their fields, to be written again
	} `json:"spec"`
}

// object reads an object.
func (c *Client) object(ctx context.Context, path string, to any) error {
	text, err := c.read(ctx, path, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// Pod returns a pod. The errors of all methods may be ErrNotFound, ErrForbidden and
// ErrUnauthorized.
func (c *Client) Pod(ctx context.Context, namespace, name string) (p Pod, err error) {
	return p, c.object(ctx, "/api/v1/namespaces/"+url.PathEscape(namespace)+"/pods/"+url.PathEscape(name), &p)
}

// DaemonSet returns a DaemonSet.
func (c *Client) DaemonSet(ctx context.Context, namespace, name string) (d DaemonSet, err error) {
	return d, c.object(ctx, "/apis/apps/v1/namespaces/"+url.PathEscape(namespace)+"/daemonsets/"+url.PathEscape(name), &d)
}

func nodePath(name string) string { return "/api/v1/nodes/" + url.PathEscape(name) }

// Node returns a node.
func (c *Client) Node(ctx context.Context, name string) (n Node, err error) {
	return n, c.object(ctx, nodePath(name), &n)
}

// patchTries is how often a change is tried that others overtake.
const patchTries = 5

// RemoveTaint removes the taints of a node that have this key, and returns whether there was one.
// Others that are set or removed at the same time stay so.
func (c *Client) RemoveTaint(ctx context.Context, node, key string) (removed bool, err error) {
	for range patchTries {
		if removed, err = c.tryRemoveTaint(ctx, node, key); !errors.Is(err, ErrConflict) {
			break
		}
	}
	return removed, err
}

func (c *Client) tryRemoveTaint(ctx context.Context, node, key string) (bool, error) {
	n, err := c.Node(ctx, node)
	if err != nil {
		return false, err
	}
	// A patch replaces the whole list, and the version has the API server refuse it where the node
	// has changed.
	kept := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t map[string]any) bool { return t["key"] == key })
	if len(kept) == len(n.Spec.Taints) {
		return false, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": n.Metadata.ResourceVersion},
		"spec": map[string]any{"taints": kept}})
	if err != nil {
		return false, err
	}
	_, err = c.do(ctx, http.MethodPatch, nodePath(node), nil, "application/merge-patch+json", patch)
	return err == nil, err
}
