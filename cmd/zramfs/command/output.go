// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"
)

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

// printJSON writes a value as JSON, the same for every command with --json.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "   ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
