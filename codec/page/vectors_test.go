// SPDX-License-Identifier: Apache-2.0

package page

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The references, which are written from the documents and share nothing with encoders and
// decoders, read each object in the files as the page whose sum stands there.
func TestVectorsByTheDocuments(t *testing.T) {
	cluster := func(object []byte) (pages []byte, err error) {
		for i := range ClusterPages {
			if object[0]>>i&1 == 0 {
				continue
			}
			page, err := clusterReferenceDecode(object, i)
			if err != nil {
				return nil, err
			}
			pages = append(pages, page...)
		}
		return pages, nil
	}
	for path, decode := range map[string]func(object []byte) ([]byte, error){
		goldenPath: referenceDecode, denseGoldenPath: denseReferenceDecode, clusterGoldenPath: cluster,
	} {
		all := goldensIn(t, path)
		if len(all) < 6 {
			t.Errorf("%s holds %d objects", path, len(all))
		}
		for _, g := range all {
			page, err := decode(g.object)
			if err != nil {
				t.Errorf("%s: %s: %v", path, g.name, err)
				continue
			}
			if sum := sha256.Sum256(page); hex.EncodeToString(sum[:]) != g.sum {
				t.Errorf("%s: %s: another page", path, g.name)
			}
			// An object that lacks its last byte is no object.
			if _, err := decode(g.object[:len(g.object)-1]); err == nil {
				t.Errorf("%s: %s: valid without its last byte", path, g.name)
			}
		}
	}
}

// The documents name the files of vectors and every fuzz target of this package and of lz4.
func TestDocumentsNameVectorsAndTargets(t *testing.T) {
	var text strings.Builder
	for _, path := range []string{documentPath, denseDocumentPath, clusterDocumentPath, "../../docs/library.md"} {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(page)
	}
	named := []string{goldenPath, denseGoldenPath, clusterGoldenPath, "testdata/vectors.txt"}
	for _, pattern := range []string{"*_test.go", "../lz4/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Fuzz\w+)`).FindAllStringSubmatch(string(code), -1) {
				named = append(named, m[1])
			}
		}
	}
	if !slices.Contains(named, "FuzzRoundTrip") || !slices.Contains(named, "FuzzEncode") {
		t.Fatalf("targets are missing: %q", named)
	}
	for _, name := range named {
		if !strings.Contains(text.String(), "`"+name+"`") && !strings.Contains(text.String(), name+"`") {
			t.Errorf("no document names %s", name)
		}
	}
}
