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

// descriptions have a line that ends a sentence begun by the name, and what follows it.
var descriptions = map[string][2]string{
	"zramfs": {summary, `zramfs turns memory into compressed swap by FUSE and a loop device, on machines
whose kernel has no zram module or may not load it. A process keeps the pages
while another, which serves them, is upgraded or restarted.
Installing it turns nothing on.`},
	"zramfs-monitor": {"dashboard and metrics of compressed swap by zramfs", `zramfs-monitor is what zramfs runs for top, metrics, serve and report: figures
on the terminal, for Prometheus and in the browser.`},
	"zramfs-node": {"agent of zramfs for nodes of Kubernetes", `zramfs-node runs on a node of a Kubernetes cluster and gives containers the
swap that the kubelet would give them. A plugin of node-problem-detector
makes a condition of the node of what zramfs reports.`},
}

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

// packages makes one package of each program, architecture and format.
func (s *staging) packages() error {
	v, err := parseVersion(s.version, s.time())
	if err != nil {
		return err
	}
	for _, arch := range s.arches {
		for _, format := range []string{deb, rpm, apk} {
			say("%s: %s of %s", arch, format, strings.Join(programs, ", "))
			for _, name := range programs {
				if err := s.makePackage(name, arch, format, v); err != nil {
					return fmt.Errorf("%s of %s for %s: %w", format, name, arch, err)
				}
			}
		}
	}
	return nil
}

func (s *staging) makePackage(name, arch, format string, v version) error {
	info, err := s.describe(name, arch, format, v)
	if err != nil {
		return err
	}
	c := &cargo{staging: s, name: name, arch: arch, format: format}
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
func (s *staging) describe(name, arch, format string, v version) (*nfpm.Info, error) {
	d := descriptions[name]
	info := &nfpm.Info{Name: name, Arch: arch, Platform: "linux", Version: v.upstream, VersionSchema: "none", Release: "1", Section: "admin",
		Priority: "optional", Maintainer: maintainer, Description: d[0] + "\n" + d[1], Vendor: "zramfs", Homepage: homepage, License: licence,
		MTime: s.time(), DisableGlobbing: true}
	info.Umask = 0o022
	info.RPM.BuildHost, info.RPM.Summary, info.RPM.Group = "zramfs", strings.ToUpper(d[0][:1])+d[0][1:], "System Environment/Base"
	same := map[string]string{deb: "zramfs (= %s-1)", rpm: "zramfs = %s", apk: "zramfs=%s-r0"}
	if format == rpm {
		info.Description = d[1]
	}
	if format == apk {
		info.Version, info.Release, info.Description = v.alpine, "0", d[0]
	}
	switch name {
	case "zramfs":
		info.Recommends = []string{"zramfs-monitor"}
		if err := s.scripts(info, format); err != nil {
			return nil, err
		}
	case "zramfs-monitor":
		info.Depends = []string{fmt.Sprintf(same[format], info.Version)}
	}
	return info, nil
}
