// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// An Object is one of a manifest.
type Object struct {
	Version, Kind, Namespace, Name string
	Text                           string // YAML
}

// header is what every object has.
type header struct {
	Version  string `yaml:"apiVersion"`
	Kind     string `yaml:"kind"`
	Metadata struct {
		Name      string `yaml:"name"`
		Namespace string `yaml:"namespace"`
	} `yaml:"metadata"`
}

// clusterKinds are the kinds without a namespace.
var clusterKinds = []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

// Objects returns the objects of a manifest. Those that name no namespace are in the one given.
func Objects(manifest, namespace string) (all []Object, err error) {
	for text := range strings.SplitSeq("\n"+manifest, "\n---\n") {
		var h header
		if err := yaml.Unmarshal([]byte(text), &h); err != nil {
			return nil, fmt.Errorf("read an object: %w", err)
		}
		if h == (header{}) {
			continue // a comment
		}
		o := Object{Version: h.Version, Kind: h.Kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name, Text: text}
		if o.Namespace == "" && !slices.Contains(clusterKinds, o.Kind) {
			o.Namespace = namespace
		}
		if o.Version == "" || o.Kind == "" || o.Name == "" {
			return nil, fmt.Errorf("an object without apiVersion, kind or name: %s", text)
		}
		all = append(all, o)
	}
	return all, nil
}

// Path is that of the object in the API.
func (o Object) Path() string {
	path := "/apis/" + o.Version
	if !strings.Contains(o.Version, "/") {
		path = "/api/" + o.Version
	}
	if o.Namespace != "" {
		path += "/namespaces/" + o.Namespace
	}
	plural := strings.ToLower(o.Kind) + "s"
	if stem, ok := strings.CutSuffix(plural, "ys"); ok {
		plural = stem + "ies"
	}
	return path + "/" + plural + "/" + o.Name
}

// Apply applies an object on the server's side, as kubectl apply --server-side does: a field that
// its kind does not have is an error. With dry the server checks all and keeps nothing.
func (c *Cluster) Apply(o Object, dry bool) error {
	query := "?fieldManager=test&fieldValidation=Strict"
	if dry {
		query += "&dryRun=All"
	}
	if _, err := c.Do(http.MethodPatch, o.Path()+query, "application/apply-patch+yaml", []byte(o.Text)); err != nil {
		return fmt.Errorf("%s %s: %w", o.Kind, o.Name, err)
	}
	return nil
}
