// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // its format
	_ "github.com/goreleaser/nfpm/v2/deb" // its format
	_ "github.com/goreleaser/nfpm/v2/rpm" // its format
)

const (
	homepage   = "https://github.com/zramfs/zramfs"
	licence    = "Apache-2.0"
	maintainer = "zramfs maintainers <maintainers@zramfs.io>"
	summary    = "compressed swap in memory without the kernel's zram"
)

// description follows the summary.
const description = `zramfs turns memory into compressed swap by FUSE and a loop device, on machines
whose kernel has no zram module or may not load it. A process keeps the pages
while another, which serves them, is upgraded or restarted.
Installing it turns nothing on.`

// A script is one of the names under which nfpm keeps scripts, by format.
func (s *staging) scripts(info *nfpm.Info, format string) error {
	places := map[string]*string{
		"deb/postinst": &info.Scripts.PostInstall, "deb/prerm": &info.Scripts.PreRemove, "deb/postrm": &info.Scripts.PostRemove,
		"rpm/post": &info.Scripts.PostInstall, "rpm/preun": &info.Scripts.PreRemove, "rpm/postun": &info.Scripts.PostRemove,
		"apk/post-upgrade": &info.APK.Scripts.PostUpgrade, "apk/pre-deinstall": &info.Scripts.PreRemove,
	}
	for name, place := range places {
		if filepath.Dir(name) != format {
			continue
		}
		text, err := os.ReadFile(filepath.Join(s.tree, "dist/packages", name))
		if err != nil {
			return err
		}
		if err := s.write("scripts/"+name, string(text)); err != nil {
			return err
		}
		*place = filepath.Join(s.dir, "scripts", name)
		if err := os.Chtimes(*place, s.time(), s.time()); err != nil { // apk has it
			return err
		}
	}
	return nil
}

// packages makes one package of each architecture and format.
func (s *staging) packages() error {
	v, err := parseVersion(s.version, s.time())
	if err != nil {
		return err
	}
	for _, arch := range s.arches {
		for _, format := range []string{deb, rpm, apk} {
			say("%s: %s", arch, format)
			if err := s.makePackage(arch, format, v); err != nil {
				return fmt.Errorf("%s for %s: %w", format, arch, err)
			}
		}
	}
	return nil
}

func (s *staging) makePackage(arch, format string, v version) error {
	info, err := s.describe(arch, format, v)
	if err != nil {
		return err
	}
	c := &cargo{staging: s, arch: arch, format: format}
	if info.Contents, err = c.load(); err != nil {
		return err
	}
	if format != apk {
		if info.Changelog, err = c.changelog(info.Version + "-" + info.Release); err != nil {
			return err
		}
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	out, err := os.Create(filepath.Join(s.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	if err := packager.Package(info, out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// describe says everything about a package but for its files.
func (s *staging) describe(arch, format string, v version) (*nfpm.Info, error) {
	info := &nfpm.Info{Name: "zramfs", Arch: arch, Platform: "linux", Version: v.upstream, VersionSchema: "none", Release: "1", Section: "admin",
		Priority: "optional", Maintainer: maintainer, Description: summary + "\n" + description, Vendor: "zramfs", Homepage: homepage, License: licence,
		MTime: s.time(), DisableGlobbing: true}
	info.Umask = 0o022
	info.RPM.BuildHost, info.RPM.Summary, info.RPM.Group = "zramfs", strings.ToUpper(summary[:1])+summary[1:], "System Environment/Base"
	if format == rpm {
		info.Description = description
	}
	if format == apk {
		info.Version, info.Release, info.Description = v.alpine, "0", summary
	}
	return info, s.scripts(info, format)
}
