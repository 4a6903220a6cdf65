// SPDX-License-Identifier: Apache-2.0

// Command charttest renders the Helm chart to the manifests that are committed, and makes the
// schemas that they are checked against. Its tests check the chart by Helm's own library. It is a
// module of its own, since that library has hundreds of packages.
//
//	charttest render             write the manifests
//	charttest schemas FILE...    write the schemas, from documents of OpenAPI 3 of an API server
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/zramfs/zramfs/tools/conform"
)

// top is the root of the tree, relative to this directory.
const top = "../.."

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "charttest:", err) // the last place to report to
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "render":
		return renderAll()
	case len(args) > 1 && args[0] == "schemas":
		return conform.WriteSchemas(filepath.Join("..", "conform", conform.SchemaFile), args[1:])
	}
	return errors.New("use charttest render, or charttest schemas FILE...")
}

func renderAll() error {
	c, err := loader.Load(filepath.Join(top, conform.Chart))
	if err != nil {
		return fmt.Errorf("read the chart: %w", err)
	}
	digest, err := conform.Digest(filepath.Join(top, conform.Chart))
	if err != nil {
		return err
	}
	for _, e := range examples {
		text, err := manifest(c, digest, e)
		if err != nil {
			return err
		}
		path := filepath.Join(top, e.file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}
