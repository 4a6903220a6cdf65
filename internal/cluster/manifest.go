// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// An Object is one of a manifest.
type Object struct {
	Version, Kind, Namespace, Name string
	Text                           string // YAML
}

// Fields of an object, in the form that Helm's templates of zramfs have.
var (
	versionField   = regexp.MustCompile(`(?m)^apiVersion: (\S+)$`)
	kindField      = regexp.MustCompile(`(?m)^kind: (\S+)$`)
	metadataField  = regexp.MustCompile(`(?m)^metadata:\n((?:  .*\n)*)`)
	nameField      = regexp.MustCompile(`(?m)^  name: '?([^'\n]+)'?$`)
	namespaceField = regexp.MustCompile(`(?m)^  namespace: (\S+)$`)
)

// clusterKinds are the kinds without a namespace.
var clusterKinds = []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

// Objects returns the objects of a manifest. Those that name no namespace are in the one given.
func Objects(manifest, namespace string) (all []Object, err error) {
	for text := range strings.SplitSeq("\n"+manifest, "\n---\n") {
		field := func(from string, f *regexp.Regexp) string {
			if m := f.FindStringSubmatch(from); m != nil {
				return m[1]
			}
			return ""
		}
		o := Object{Version: field(text, versionField), Kind: field(text, kindField), Text: text}
		if o.Version == "" && o.Kind == "" {
			continue // a comment
		}
		metadata := field(text+"\n", metadataField)
		o.Name, o.Namespace = field(metadata, nameField), field(metadata, namespaceField)
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
