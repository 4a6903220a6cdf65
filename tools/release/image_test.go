// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// The archive is an OCI layout with one image of one layer, with the two programs.
func TestImage(t *testing.T) {
	image := openImage(t)
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH || !slices.Equal(config.Config.Entrypoint, []string{"/usr/bin/zramfs"}) {
		t.Errorf("the configuration is %+v", config)
	}
	for _, label := range []string{"title", "version", "revision", "source", "licenses", "created"} {
		if config.Config.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("no label %s: %v", label, config.Config.Labels)
		}
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	if size, err := layers[0].Size(); err != nil || size > imageLimit {
		t.Errorf("%d bytes, %v", size, err)
	}
	text, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(text); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || slices.Contains(programs, h.Name) && h.Mode != 0o755 {
			t.Errorf("%+v", h)
		}
		names = append(names, h.Name)
	}
	want := []string{"run/", "tmp/", "usr/", "usr/bin/", "usr/libexec/", "usr/share/", "usr/share/licenses/", "usr/share/licenses/zramfs/",
		"usr/bin/zramfs", "usr/libexec/zramfsd", "usr/share/licenses/zramfs/LICENSE", "usr/share/licenses/zramfs/THIRD-PARTY"}
	if !slices.Equal(names, want) {
		t.Errorf("the layer has %q", names)
	}
}

// openImage unpacks the archive and returns its image.
func openImage(t *testing.T) v1.Image {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(made, "*-image.tar"))
	if err != nil || len(found) != 1 {
		t.Fatalf("images: %v, %v", found, err)
	}
	dir := t.TempDir()
	ask(t, "tar", "-xf", found[0], "-C", dir)
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = index.IndexManifest(); err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Fatalf("%+v, %v", manifest, err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// The bill names each program with its hash and everything in it, and nothing that is not listed.
func TestBill(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(made, "*.cdx.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("bills: %v, %v", found, err)
	}
	f, err := os.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b cdx.BOM
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&b); err != nil {
		t.Fatal(err)
	}
	sums, err := hashes(unpacked(t))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{b.Metadata.Component.BOMRef: true}
	for _, c := range *b.Components {
		known[c.BOMRef] = true
		if c.Type == cdx.ComponentTypeApplication && (*c.Hashes)[0].Value != sums[c.Name] {
			t.Errorf("%s has another hash", c.BOMRef)
		}
	}
	parts := map[string][]string{}
	for _, d := range *b.Dependencies {
		parts[d.Ref] = *d.Dependencies
		for _, ref := range append(*d.Dependencies, d.Ref) {
			if !known[ref] {
				t.Errorf("%s is not listed", ref)
			}
		}
	}
	has := func(program, part string) bool {
		return slices.ContainsFunc(parts[program+"-linux-"+runtime.GOARCH], func(ref string) bool { return strings.HasPrefix(ref, part+"@") })
	}
	if !has("zramfs", "pkg:golang/std") || !has("zramfs", "pkg:npm/uplot") || !has("zramfsd", "pkg:golang/golang.org/x/sys") ||
		has("zramfsd", "pkg:npm/uplot") || len(parts["zramfs"]) != len(programs) {
		t.Errorf("the programs have %v", parts)
	}
}

// unpacked unpacks the archive of the programs, and returns the directory that is in it.
func unpacked(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(made, "*-linux-"+runtime.GOARCH+".tar.gz"))
	if err != nil || len(found) != 1 {
		t.Fatalf("archives: %v, %v", found, err)
	}
	dir := t.TempDir()
	ask(t, "tar", "-xzf", found[0], "-C", dir)
	return filepath.Join(dir, strings.TrimSuffix(filepath.Base(found[0]), ".tar.gz"))
}

// The archive of the programs has those, which may be executed, and the licences.
func TestArchive(t *testing.T) {
	entries, err := os.ReadDir(unpacked(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Mode().String()+" "+e.Name())
	}
	if want := []string{"-rw-r--r-- LICENSE", "-rw-r--r-- THIRD-PARTY", "-rwxr-xr-x zramfs", "-rwxr-xr-x zramfsd"}; !slices.Equal(names, want) {
		t.Errorf("the archive has %q", names)
	}
}

// sha256sum finds every file as it was.
func TestSums(t *testing.T) {
	out := ask(t, "sh", "-c", `cd "$0" && sha256sum -c SHA256SUMS`, made)
	if n := strings.Count(out, ": OK\n"); n != 6 {
		t.Errorf("%d files:\n%s", n, out)
	}
}
