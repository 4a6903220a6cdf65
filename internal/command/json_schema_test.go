// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/bench"
	"github.com/zramfs/zramfs/internal/doctor"
	"github.com/zramfs/zramfs/internal/estimate"
	"github.com/zramfs/zramfs/internal/imageio"
)

// jsonRoots are the values that commands print, by command. list has its fields from its columns.
func jsonRoots() map[string]any {
	return map[string]any{
		"up": map[string]summary{"up": {}}, "mount": map[string]summary{"mount": {}}, "down": map[string]downSummary{"down": {}},
		"umount":  map[string]umountSummary{"umount": {}},
		"metrics": map[string][]metricValue{"metrics": {}}, "upgrade": map[string]upgradeReport{"upgrade": {}},
		"status": map[string][]report{"zramfs": {}}, "top": topLine{},
		"version": map[string]buildInfo{"version": {}}, "verify": map[string]imageio.VerifyReport{"verify": {}},
		"export": map[string]imageio.ExportReport{"export": {}}, "import": map[string]imageio.ImportReport{"import": {}},
		"snapshot-save": map[string]imageio.SaveReport{"save": {}}, "snapshot-restore": map[string]imageio.RestoreReport{"restore": {}},
		"snapshot-inspect": map[string]imageio.InspectReport{"inspect": {}},
		"doctor":           doctor.Diagnosis{}, "estimate": estimate.Report{},
		"trace": map[string]traceReport{"trace": {}}, "trace-follow": traceLine{},
		"events": map[string]eventsReport{"events": {}}, "events-follow": eventLine{},
		"compact": map[string]workReport{"compact": {}}, "recompress": map[string]workReport{"recompress": {}}, "idle": map[string]idleReport{"idle": {}},
		"config": map[string]configReport{"config": {}}, "bench-codec": bench.CodecReport{},
	}
}

// docs/json.schema.json has each command with the flag --json, as the types are, and a description
// of each field. With -update it is written anew.
func TestJSONSchema(t *testing.T) {
	d := definitions{t: t, all: map[string]*jsonschema.Schema{"list": listSchema()}, comments: map[string]map[string]string{}}
	for command, root := range jsonRoots() {
		d.all[command] = d.rootSchema(root)
	}
	for _, c := range commands() {
		has := slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), flagJSON) })
		documented := false
		for name := range d.all {
			documented = documented || name == c.Name || strings.HasPrefix(name, c.Name+"-")
		}
		if has != documented {
			t.Errorf("%s has the flag --json: %v; the schema has it: %v", c.Name, has, documented)
		}
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(jsonschema.Schema{Schema: "https://json-schema.org/draft/2020-12/schema", Defs: d.all}); err != nil {
		t.Fatal(err)
	}
	// An object without another one in it is one line.
	text := flat.ReplaceAllFunc(want.Bytes(), func(b []byte) []byte { return bytes.Join(bytes.Fields(b), []byte(" ")) })
	if *update {
		if err := os.WriteFile(jsonSchemaFile, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(jsonSchemaFile); err != nil || !bytes.Equal(got, text) {
		t.Errorf("docs/json.schema.json is old, or not there (%v): go test -run %s -update", err, t.Name())
	}
}

const jsonSchemaFile = "../../docs/json.schema.json"

var flat = regexp.MustCompile(`\{[^{}\[\]]*(\[[^{}\[\]]*\][^{}\[\]]*)*\}|\[[^{}\[\]]*\]`)

// definitions are the schemas of what commands print, and of the structs in it.
type definitions struct {
	t        *testing.T
	all      map[string]*jsonschema.Schema
	comments map[string]map[string]string // of fields as Type.Name, by package
}

// rootSchema returns the schema of what a command prints: the value and the member "schema".
func (d *definitions) rootSchema(root any) *jsonschema.Schema {
	v := reflect.ValueOf(root)
	typ := v.Type()
	if v.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time](): {Type: "string", Format: "date-time"}}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.define(s, typ)
	if v.Kind() == reflect.Map {
		name := v.MapKeys()[0].String()
		s = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{name: s}, Required: []string{name}}
	} else {
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		s = d.all[name]
		delete(d.all, name)
	}
	return withSchema(s)
}

// withSchema puts the member "schema" in front of the others.
func withSchema(s *jsonschema.Schema) *jsonschema.Schema {
	s.Properties["schema"] = &jsonschema.Schema{Const: jsonschema.Ptr(any(jsonSchema))}
	for _, names := range []*[]string{&s.Required, &s.PropertyOrder} {
		*names = append([]string{"schema"}, slices.DeleteFunc(*names, func(name string) bool { return name == "schema" })...)
	}
	return s
}

// define makes each struct in s, the schema of typ, a definition that s refers to. Comments of its
// fields become descriptions.
func (d *definitions) define(s *jsonschema.Schema, typ reflect.Type) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case s.Items != nil:
		s.Type, s.Types = "array", nil // commands print empty ones as []
		d.define(s.Items, typ.Elem())
	case typ.Kind() == reflect.Map:
		d.define(s.AdditionalProperties, typ.Elem())
	case s.Properties != nil:
		object := s.CloneSchemas()
		object.Type, object.Types = "object", nil
		object.AdditionalProperties = nil // later versions may print more
		names := map[string]string{}
		for _, f := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names[f.Name] = cmp.Or(name, f.Name)
		}
		for _, f := range reflect.VisibleFields(typ) {
			if p := object.Properties[names[f.Name]]; p != nil && !f.Anonymous {
				d.define(p, f.Type)
				p.Description = goName.ReplaceAllStringFunc(d.comment(owner(typ, f), f.Name), func(word string) string { return cmp.Or(names[word], word) })
			}
		}
		d.all[typ.String()] = object
		ref := &jsonschema.Schema{Ref: "#/$defs/" + typ.String()}
		if len(s.Types) > 0 { // it may be null
			ref = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, ref}}
		}
		*s = *ref
	}
}

// goName matches what may be the name of a field in a comment.
var goName = regexp.MustCompile(`[A-Z]\w+`)

// owner returns the struct that has the field: typ, or a struct embedded in it.
func owner(typ reflect.Type, f reflect.StructField) reflect.Type {
	if n := len(f.Index) - 1; n > 0 {
		return typ.FieldByIndex(f.Index[:n]).Type
	}
	return typ
}

// comment returns the comment of a field of a struct in its source.
func (d *definitions) comment(typ reflect.Type, field string) string {
	pkg := typ.PkgPath()
	if d.comments[pkg] == nil {
		d.comments[pkg] = fieldComments(d.t, filepath.Join("../..", strings.TrimPrefix(pkg, "github.com/zramfs/zramfs/")))
	}
	text := d.comments[pkg][typ.Name()+"."+field]
	if text == "" && field != "Schema" {
		d.t.Errorf("%s.%s has no comment", typ, field)
	}
	return text
}

// fieldComments returns the comments of the fields of all structs in a directory. One that names
// several fields is of each of them.
func fieldComments(t *testing.T, dir string) map[string]string {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			last := ""
			for _, f := range s.Fields.List {
				text := strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
				for _, name := range f.Names {
					if text == "" && strings.Contains(last, name.Name) {
						text = last
					}
					all[spec.Name.Name+"."+name.Name] = text
				}
				last = text
			}
			return false
		})
	}
	return all
}

// listSchema returns the schema of list -J. All but answer can be unknown.
func listSchema() *jsonschema.Schema {
	device := jsonschema.Schema{Type: "object", Required: []string{"answer"}, Properties: map[string]*jsonschema.Schema{
		"answer": {Type: "string", Description: "ok, timeout, dead, elsewhere or error"}}}
	for _, c := range slices.Concat(listColumns, swapColumns) {
		kind := "integer"
		switch c.Name {
		case "NAME", "ALGORITHM", "MOUNTPOINT":
			kind = "string"
		case "COMP-RATIO":
			kind = "number"
		}
		device.Properties[strings.ToLower(c.Name)] = &jsonschema.Schema{Types: []string{"null", kind}, Description: c.help}
	}
	return withSchema(&jsonschema.Schema{Type: "object", Required: []string{"zramfs"},
		Properties: map[string]*jsonschema.Schema{"zramfs": {Type: "array", Items: &device}}})
}
