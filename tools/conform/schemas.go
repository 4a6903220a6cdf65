// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SchemaFile has the schemas of the kinds that the chart makes.
const SchemaFile = "schemas.json"

// kinds are the kinds whose schemas are kept, with their groups.
var kinds = []string{"/v1/Namespace", "/v1/ResourceQuota", "/v1/ServiceAccount", "/v1/ConfigMap", "apps/v1/DaemonSet",
	"rbac.authorization.k8s.io/v1/Role", "rbac.authorization.k8s.io/v1/RoleBinding",
	"rbac.authorization.k8s.io/v1/ClusterRole", "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy",
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding", "networking.k8s.io/v1/NetworkPolicy"}

// bundle is the content of SchemaFile.
type bundle struct {
	Kinds       map[string]string `json:"kinds"`       // name of the definition by kind
	Definitions map[string]any    `json:"definitions"` // of JSON schema
}

// openAPI is what counts here of a document of OpenAPI 3.
type openAPI struct {
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
}

// WriteSchemas writes the schemas of our kinds, from documents of an API server. Fields that a kind
// does not have are errors in them.
func WriteSchemas(to string, documents []string) error {
	all := map[string]map[string]any{}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var doc openAPI
		if err := json.Unmarshal(text, &doc); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		maps.Copy(all, doc.Components.Schemas)
	}
	b := bundle{Kinds: map[string]string{}, Definitions: map[string]any{}}
	for name, schema := range all {
		for _, kind := range kindsOf(schema) {
			if slices.Contains(kinds, kind) {
				b.Kinds[kind[strings.LastIndexByte(kind, '/')+1:]] = name
				b.add(all, name)
			}
		}
	}
	if len(b.Kinds) != len(kinds) {
		return fmt.Errorf("the documents have %d of %d kinds: %v", len(b.Kinds), len(kinds), slices.Sorted(maps.Keys(b.Kinds)))
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

// kindsOf returns group, version and kind of a schema that is one of an object.
func kindsOf(schema map[string]any) (all []string) {
	list, _ := schema["x-kubernetes-group-version-kind"].([]any)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			all = append(all, fmt.Sprintf("%v/%v/%v", m["group"], m["version"], m["kind"]))
		}
	}
	return all
}

// add adds a definition, and those that it refers to.
func (b *bundle) add(all map[string]map[string]any, name string) {
	if _, ok := b.Definitions[name]; ok || all[name] == nil {
		return
	}
	b.Definitions[name] = nil // under way
	b.Definitions[name] = b.reduce(all, all[name])
}

// kept are the words of a schema that decide what is valid.
var kept = []string{"type", "properties", "required", "items", "additionalProperties", "allOf", "oneOf", "anyOf", "enum", "$ref", "minimum", "maximum", "pattern"}

// reduce returns a schema with what decides alone.
func (b *bundle) reduce(all map[string]map[string]any, schema map[string]any) any {
	out := map[string]any{}
	for _, word := range kept {
		value, ok := schema[word]
		if !ok {
			continue
		}
		switch v := value.(type) {
		case map[string]any:
			if word == "properties" {
				fields := map[string]any{}
				for name, field := range v {
					fields[name] = b.reduce(all, field.(map[string]any))
				}
				out[word] = fields
			} else {
				out[word] = b.reduce(all, v)
			}
		case []any:
			out[word] = b.reduceAll(all, v)
		case string:
			if name, ok := strings.CutPrefix(v, "#/components/schemas/"); ok {
				b.add(all, name)
				v = "#/definitions/" + name
			}
			out[word] = v
		default:
			out[word] = v
		}
	}
	_, hasFields := out["properties"]
	if _, says := out["additionalProperties"]; hasFields && !says {
		out["additionalProperties"] = false
	}
	return out
}

func (b *bundle) reduceAll(all map[string]map[string]any, list []any) (out []any) {
	for _, item := range list {
		if schema, ok := item.(map[string]any); ok {
			item = b.reduce(all, schema)
		}
		out = append(out, item)
	}
	return out
}

// unpack writes one file for each kind to dir, as kubeconform looks for them.
func unpack(from, dir string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var b bundle
	if err := json.Unmarshal(text, &b); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	for kind, name := range b.Kinds {
		schema, err := json.Marshal(map[string]any{"$ref": "#/definitions/" + name, "definitions": b.Definitions})
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, strings.ToLower(kind)+".json"), schema, 0o600)); err != nil {
			return err
		}
	}
	return nil
}
