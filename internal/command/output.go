// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// jsonSchema is the value of "schema" in the JSON of every command. It changes when a field is
// removed or changes its meaning; a new field leaves it as it is. docs/json.schema.json has all.
const jsonSchema = 1

// schemaMember is its text, the first member of each object that a command prints.
var schemaMember = fmt.Sprintf("%q: %d", "schema", jsonSchema)

// printReport writes a report as JSON or as its text.
func printReport(w io.Writer, asJSON bool, report interface{ Text() string }) error {
	var err error
	if asJSON {
		err = printJSON(w, report)
	} else {
		_, err = io.WriteString(w, report.Text())
	}
	if err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

// printJSON writes a map or struct as JSON with its schema, the same for every command with --json.
func printJSON(w io.Writer, v any) error {
	const indent = "   "
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	rest, ok := bytes.CutPrefix(out.Bytes(), []byte("{\n"))
	if !ok {
		return fmt.Errorf("the JSON of %T is no object with members", v)
	}
	_, err := w.Write(append([]byte("{\n"+indent+schemaMember+",\n"), rest...))
	return err
}

// printJSONLine writes a value, which has its schema, as a line of JSON.
func printJSONLine(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
