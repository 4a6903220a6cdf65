// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageLimit bounds what a node has to fetch for one architecture, in bytes.
const imageLimit = 15_000_000

// image writes an index of images for all architectures, as a tar archive of an OCI layout.
func (s *staging) image() error {
	v, err := parseVersion(s.version, s.time())
	if err != nil {
		return err
	}
	notes := map[string]string{
		"org.opencontainers.image.title":         "zramfs",
		"org.opencontainers.image.description":   summary,
		"org.opencontainers.image.version":       v.upstream,
		"org.opencontainers.image.revision":      s.version,
		"org.opencontainers.image.created":       s.time().Format("2006-01-02T15:04:05Z"),
		"org.opencontainers.image.source":        homepage,
		"org.opencontainers.image.documentation": homepage + "/blob/main/docs/kubernetes.md",
		"org.opencontainers.image.licenses":      licence,
		"org.opencontainers.image.vendor":        "zramfs",
	}
	index := v1.ImageIndex(empty.Index)
	for _, arch := range s.arches {
		one, err := s.imageFor(arch, notes)
		if err != nil {
			return fmt.Errorf("image for %s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	index = mutate.Annotations(mutate.IndexMediaType(index, types.OCIImageIndex), notes).(v1.ImageIndex)
	dir := filepath.Join(s.dir, "oci")
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The name by which tools that import the archive know the image.
	if err := l.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": v.tag()})); err != nil {
		return err
	}
	return s.archive(dir, filepath.Join(s.out, "zramfs-"+v.upstream+"-image.tar"))
}

// tag is the version in the characters that the name of an image may have.
func (v version) tag() string { return strings.NewReplacer("~", "-", "+", "-").Replace(v.upstream) }

// imageFor makes the image of one architecture: one layer with the programs, and nothing below it.
func (s *staging) imageFor(arch string, notes map[string]string) (v1.Image, error) {
	text, err := s.layer(arch)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	size, err := layer.Size()
	if err != nil {
		return nil, err
	}
	say("%s: image of %.1f MB, %.1f MB unpacked", arch, float64(size)/1e6, float64(len(text))/1e6)
	if size > imageLimit {
		return nil, fmt.Errorf("%d bytes, want %d at most", size, imageLimit)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: s.time()}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "tools/release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, created
	config.Config = v1.Config{Entrypoint: []string{"/" + programs[0]}, Env: []string{"PATH=/usr/bin"}, WorkingDir: "/", User: "0:0", Labels: notes}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, notes).(v1.Image), nil
}

// layer is the archive of the image's files.
func (s *staging) layer(arch string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range []struct {
		name string
		mode int64
	}{{"run/", 0o755}, {"tmp/", 0o1777}, {"usr/", 0o755}, {"usr/bin/", 0o755}, {"usr/libexec/", 0o755}, {"usr/share/", 0o755}, {"usr/share/licenses/", 0o755},
		{"usr/share/licenses/zramfs/", 0o755}} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name, Mode: dir.mode, ModTime: s.time(), Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
	}
	for _, program := range programs {
		if err := s.add(w, filepath.Join(s.installed(arch), program), program, 0o755); err != nil {
			return nil, err
		}
	}
	if err := s.addLicences(w, "usr/share/licenses/zramfs/"); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// addLicences adds the licence and those of what others have written, below dir.
func (s *staging) addLicences(w *tar.Writer, dir string) error {
	return errors.Join(s.add(w, filepath.Join(s.tree, "LICENSE"), dir+"LICENSE", 0o644), s.add(w, filepath.Join(s.dir, "THIRD-PARTY"), dir+"THIRD-PARTY", 0o644))
}

// add adds the file at source to an archive, without its own time and owner.
func (s *staging) add(w *tar.Writer, source, name string, mode int64) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(text)), ModTime: s.time(),
		Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// archive writes all files below dir, in the order of their names.
func (s *staging) archive(dir, path string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return s.add(w, path, name, 0o644)
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}
