// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/bench"
	"github.com/zramfs/zramfs/internal/dictionary"
	"github.com/zramfs/zramfs/internal/doctor"
	"github.com/zramfs/zramfs/internal/estimate"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/prefetch"
)

// jsonDocument is the page with a section for each command that prints JSON, and a row in it for
// each field.
const jsonDocument = "../../docs/json.md"

// jsonRoots are the values that commands print, by command. list has its fields from its columns.
func jsonRoots() map[string]any {
	return map[string]any{
		"up": map[string]summary{"up": {}}, "mount": map[string]summary{"mount": {}}, "grow": map[string]summary{"grow": {}}, "down": map[string]downSummary{"down": {}},
		"umount": map[string]umountSummary{"umount": {}}, "dict": map[string]dictionary.Report{"dict": {}},
		"metrics": map[string][]metricValue{"metrics": {{}}}, "upgrade": map[string]upgradeReport{"upgrade": {}},
		"status": map[string][]report{"zramfs": {{}}}, "stats": statsLine{},
		"who": map[string]whoReport{"who": {}}, "version": map[string]buildInfo{"version": {}}, "verify": map[string]imageio.VerifyReport{"verify": {}},
		"export": map[string]imageio.ExportReport{"export": {}}, "import": map[string]imageio.ImportReport{"import": {}},
		"snapshot save": map[string]imageio.SaveReport{"save": {}}, "snapshot restore": map[string]imageio.RestoreReport{"restore": {}},
		"snapshot inspect": map[string]imageio.InspectReport{"inspect": {}},
		"prefetch":         map[string]prefetch.Report{"prefetch": {}}, "doctor": doctor.Diagnosis{}, "estimate": estimate.Report{},
		"reclaim": reclaimLine{}, "trace": map[string]traceReport{"trace": {}}, "events": map[string]eventsReport{"events": {}},
		"compact": map[string]workReport{"compact": {}}, "recompress": map[string]workReport{"recompress": {}}, "idle": map[string]idleReport{"idle": {}},
		"config": map[string]configReport{"config": {}}, "bench codec": bench.CodecReport{}, "bench bulk": bench.BulkReport{},
	}
}

// A jsonField is a field by its path from the object that the command prints, as jq names it.
type jsonField struct{ path, kind, comment string }

// jsonFieldsOf returns the fields of what a command prints, the schema first.
func jsonFieldsOf(root any) []jsonField {
	all := []jsonField{{"schema", "integer", "1"}}
	v := reflect.ValueOf(root)
	if v.Kind() == reflect.Struct {
		return appendFields(all, "", v.Type())
	}
	key := v.MapKeys()[0].String()
	return appendField(all, key, v.Type().Elem(), "", "")
}

// appendField adds a field and those of the objects in it.
func appendField(all []jsonField, path string, typ reflect.Type, suffix, comment string) []jsonField {
	if typ.Kind() == reflect.Pointer {
		return appendField(all, path, typ.Elem(), ", null"+suffix, comment)
	}
	add := func(kind string) []jsonField { return append(all, jsonField{path, kind + suffix, comment}) }
	switch {
	case typ == reflect.TypeFor[time.Time]():
		return add("time")
	case typ.Implements(reflect.TypeFor[json.Marshaler]()), typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return add("string")
	}
	switch typ.Kind() {
	case reflect.Struct:
		return appendFields(add("object"), path+".", typ)
	case reflect.Slice, reflect.Array:
		if typ.Elem().Kind() == reflect.Struct {
			return appendFields(add("array of objects"), path+"[].", typ.Elem())
		}
		return add("array of " + plainKind(typ.Elem()))
	case reflect.Map:
		return add("object of " + plainKind(typ.Elem()))
	}
	return add(plainKind(typ))
}

// plainKind names a kind of value that is no object.
func plainKind(typ reflect.Type) string {
	switch typ.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		return "array of " + plainKind(typ.Elem())
	}
	return "integer"
}

// appendFields adds the fields of an object.
func appendFields(all []jsonField, prefix string, typ reflect.Type) []jsonField {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = appendFields(all, prefix, f.Type)
			continue
		case !f.IsExported() || name == "-" || name == "schema" && prefix == "":
			continue
		case name == "":
			name = f.Name
		}
		suffix := ""
		if strings.HasPrefix(options, "omit") {
			suffix = ", optional"
		}
		all = appendField(all, prefix+name, f.Type, suffix, commentOf(typ, f.Name))
	}
	return all
}

// commentOf returns the comment of a field in its source, for a new row of the page: with -update
// alone, since it takes long.
func commentOf(typ reflect.Type, field string) string {
	dir, ok := strings.CutPrefix(typ.PkgPath(), "github.com/zramfs/zramfs/")
	if !ok || !*update {
		return ""
	}
	paths, _ := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	comment := ""
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != typ.Name() {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			for i := 0; ok && i < len(s.Fields.List); i++ {
				if f := s.Fields.List[i]; slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return n.Name == field }) {
					comment = strings.TrimSpace(f.Doc.Text() + f.Comment.Text())
				}
			}
			return false
		})
	}
	return strings.TrimSuffix(strings.ReplaceAll(comment, "\n", " "), ".")
}

// listFields are the fields of list -J. All but answer can be unknown.
func listFields() []jsonField {
	all := []jsonField{{"schema", "integer", ""}, {"zramfs", "array of objects", ""}}
	for _, c := range slices.Concat(listColumns, swapColumns) {
		kind := "integer, null"
		switch c.Name {
		case "NAME", "ALGORITHM", "MOUNTPOINT":
			kind = "string, null"
		case "COMP-RATIO":
			kind = "number, null"
		}
		all = append(all, jsonField{"zramfs[]." + strings.ToLower(c.Name), kind, c.help})
	}
	return append(all, jsonField{"zramfs[].answer", "string", ""})
}

var jsonRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]*) \\|$")

// Each field that a command prints has a row in its section of docs/json.md with its kind and a
// meaning, and each row is a field. With -update, rows are added and removed.
func TestDocsJSONFields(t *testing.T) {
	page, err := os.ReadFile(jsonDocument)
	if err != nil {
		t.Fatal(err)
	}
	head, sections := jsonSections(string(page))
	fields := map[string][]jsonField{"list": listFields()}
	for name, root := range jsonRoots() {
		fields[name] = jsonFieldsOf(root)
	}
	for name := range sections {
		if fields[name] == nil {
			t.Errorf("docs/json.md has a section %q: no such command prints JSON", name)
		}
	}
	if *update {
		writeJSONDocument(t, head, sections, fields)
	}
	for name, want := range fields {
		compareFields(t, name, want, sections[name])
	}
	wantJSONFlags(t, fields)
}

// jsonSections divides the page into what is before the first section, and the sections.
func jsonSections(page string) (head string, sections map[string]string) {
	parts := strings.Split(page, "\n## ")
	sections = map[string]string{}
	for _, part := range parts[1:] {
		name, text, _ := strings.Cut(part, "\n")
		sections[name] = text
	}
	return parts[0], sections
}

// compareFields compares the rows of a section with the fields.
func compareFields(t *testing.T, name string, want []jsonField, section string) {
	t.Helper()
	rows := map[string][]string{}
	for _, row := range jsonRow.FindAllStringSubmatch(section, -1) {
		rows[row[1]] = row
	}
	for _, f := range want {
		row := rows[f.path]
		delete(rows, f.path)
		switch {
		case row == nil:
			t.Errorf("docs/json.md, %s: `%s` has no row; its kind is %s; -update adds it", name, f.path, f.kind)
		case row[2] != f.kind:
			t.Errorf("docs/json.md, %s: `%s` is %s there, and is %s", name, f.path, row[2], f.kind)
		case row[3] == "":
			t.Errorf("docs/json.md, %s: `%s` has no meaning", name, f.path)
		}
	}
	for path := range rows {
		t.Errorf("docs/json.md, %s: there is no field `%s`", name, path)
	}
}

// wantJSONFlags wants a section for each command with the flag --json, and no other. bench has one
// for each of its measurements.
func wantJSONFlags(t *testing.T, fields map[string][]jsonField) {
	t.Helper()
	for _, c := range commands() {
		has := slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), flagJSON) })
		documented := false
		for name := range fields {
			first, _, _ := strings.Cut(name, " ")
			documented = documented || first == c.Name
		}
		if has != documented {
			t.Errorf("%s has the flag --json: %v; it has a section in docs/json.md: %v", c.Name, has, documented)
		}
	}
}

// writeJSONDocument writes the page anew with the meanings that it has; new rows have the comment
// of the field.
func writeJSONDocument(t *testing.T, head string, sections map[string]string, fields map[string][]jsonField) {
	t.Helper()
	var out strings.Builder
	out.WriteString(strings.TrimRight(head, "\n") + "\n")
	names := []string{"status", "stats", "metrics", "list", "who", "up", "grow", "mount", "down", "umount", "upgrade", "verify", "export", "import",
		"snapshot save", "snapshot restore", "snapshot inspect", "prefetch", "reclaim", "dict",
		"estimate", "doctor", "bench codec", "bench bulk", "version", "trace", "events"}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		meanings := map[string]string{}
		for _, row := range jsonRow.FindAllStringSubmatch(sections[name], -1) {
			meanings[row[1]] = row[3]
		}
		fmt.Fprintf(&out, "\n## %s\n\n", name)
		if text, _, ok := strings.Cut(sections[name], "| field |"); ok && strings.TrimSpace(text) != "" {
			out.WriteString(strings.TrimSpace(text) + "\n\n")
		}
		out.WriteString("| field | kind | meaning |\n|---|---|---|\n")
		for _, f := range fields[name] {
			meaning := meanings[f.path]
			if meaning == "" {
				meaning = strings.ReplaceAll(f.comment, "|", "or")
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", f.path, f.kind, meaning)
			sections[name] += fmt.Sprintf("| `%s` | %s | %s |\n", f.path, f.kind, meaning)
		}
	}
	if err := os.WriteFile(jsonDocument, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
