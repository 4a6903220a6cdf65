// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
)

// archives writes an archive of the programs for each architecture, for machines without a package
// manager: zramfs finds the server in its own directory.
func (s *staging) archives() error {
	v, err := parseVersion(s.version, s.time())
	if err != nil {
		return err
	}
	for _, arch := range s.arches {
		name := "zramfs-" + v.upstream + "-linux-" + arch
		if err := s.programArchive(arch, name, filepath.Join(s.out, name+".tar.gz")); err != nil {
			return err
		}
	}
	return nil
}

// programArchive writes the programs and licences, in a directory dir, to an archive at path.
func (s *staging) programArchive(arch, dir, path string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(out)
	w := tar.NewWriter(packed)
	for _, program := range programs {
		if err == nil {
			err = s.add(w, filepath.Join(s.installed(arch), program), dir+"/"+filepath.Base(program), 0o755)
		}
	}
	return errors.Join(err, s.addLicences(w, dir+"/"), w.Close(), packed.Close(), out.Close())
}
