// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2/files"
)

// Formats of packages.
const (
	deb = "deb"
	rpm = "rpm"
	apk = "apk"
)

// A cargo collects the files of one package. It is used by one goroutine.
type cargo struct {
	*staging
	arch, format string
	contents     files.Contents
	err          error // the first
}

// file adds the file at source, compressed where a manual page or changelog has to be.
func (c *cargo) file(source, target string, mode fs.FileMode, kind string) {
	if c.err != nil {
		return
	}
	if strings.HasSuffix(target, ".gz") && !strings.HasSuffix(source, ".gz") {
		source, c.err = c.compressed(source)
	}
	c.contents = append(c.contents, &files.Content{Source: source, Destination: target, Type: kind,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: c.time()}})
}

// compressed returns the path of source, compressed without name and time.
func (c *cargo) compressed(source string) (string, error) {
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	name := "compressed/" + strings.ReplaceAll(strings.TrimPrefix(source, "/"), "/", "_") + ".gz"
	return filepath.Join(c.dir, name), c.write(name, out.String())
}

func (c *cargo) link(to, target string) {
	c.contents = append(c.contents, &files.Content{Source: to, Destination: target, Type: files.TypeSymlink,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o777, MTime: c.time()}})
}

// below calls each for all files below a directory of the tree or, with an absolute path, of
// another place.
func (c *cargo) below(dir, target string, each func(path, target string)) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.tree, dir)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rest, err := filepath.Rel(dir, path)
		each(path, filepath.Join(target, rest))
		return err
	})
	if c.err == nil {
		c.err = err
	}
}

// plain adds files as they are, those that may be executed as such.
func (c *cargo) plain(path, target string) {
	info, err := os.Stat(path)
	if err != nil {
		c.err = err
		return
	}
	mode := fs.FileMode(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	c.file(path, target, mode, "")
}

// load collects what the package has: all that make install has installed, configuration, services
// and documentation.
func (c *cargo) load() (files.Contents, error) {
	c.papers()
	c.below(c.installed(c.arch), "/", c.add)
	c.file(filepath.Join(c.tree, "dist/zramfs.conf"), "/etc/zramfs.conf", 0o644, files.TypeConfigNoReplace)
	sbin, to := "/usr/sbin", "../bin/zramfs"
	if c.format == apk {
		sbin, to = "/sbin", "../usr/bin/zramfs"
		c.below("dist/openrc", "/etc/init.d", func(path, target string) { c.file(path, target, 0o755, "") })
	}
	c.link(to, sbin+"/mount.zramfs")
	c.link("mount.zramfs", sbin+"/mount.fuse.zramfs")
	c.otherName("mount.zramfs", "zramfs-mount")
	c.link("mount.zramfs.8.gz", "/usr/share/man/man8/mount.fuse.zramfs.8.gz")
	if c.format == deb {
		c.file(filepath.Join(c.tree, "dist/needrestart/zramfs.conf"), "/etc/needrestart/conf.d/zramfs.conf", 0o644, files.TypeConfigNoReplace)
	}
	c.below("dist/runit", "/usr/share/zramfs/runit", c.plain)
	c.below("dist/node-problem-detector", "/usr/share/zramfs/node-problem-detector", c.plain)
	c.below("dist/monitoring", "/usr/share/zramfs/monitoring", c.plain)
	c.page("README.md")
	c.below("docs", "docs", func(path, page string) {
		switch filepath.Ext(page) {
		case ".md":
			c.page(page)
		case ".json":
			c.doc(path, "/usr/share/doc/zramfs/"+page)
		}
	})
	return c.contents, c.err
}

// add adds a file that make install has installed. Alpine has no systemd.
func (c *cargo) add(path, target string) {
	switch to, err := os.Readlink(path); {
	case c.format == apk && strings.HasPrefix(target, "/usr/lib/systemd/"):
	case err == nil:
		c.link(to, target)
	case strings.HasPrefix(target, "/usr/share/man/"):
		c.doc(path, target+".gz")
	default:
		c.plain(path, target)
	}
}

var pageLink = regexp.MustCompile(`\]\(([^)#:]+)([)#])`)

// page adds a page of the tree's documentation, at its place below the package's. Links to files
// that no package has lead to the project's.
func (c *cargo) page(name string) {
	if c.err != nil {
		return
	}
	var text []byte
	text, c.err = os.ReadFile(filepath.Join(c.tree, name))
	text = pageLink.ReplaceAllFunc(text, func(link []byte) []byte {
		parts := pageLink.FindSubmatch(link)
		to := filepath.Join(filepath.Dir(name), string(parts[1]))
		if ext := filepath.Ext(to); ext == ".md" || ext == ".json" && filepath.Dir(to) == "docs" {
			return link
		}
		return fmt.Appendf(nil, "](%s/blob/main/%s%s", homepage, to, parts[2])
	})
	if c.err == nil {
		c.err = c.write(name, string(text))
	}
	c.doc(filepath.Join(c.dir, name), "/usr/share/doc/zramfs/"+name)
}

// doc adds a file that is documentation, which rpm marks as such.
func (c *cargo) doc(source, target string) {
	kind := ""
	if c.format == rpm {
		kind = files.TypeRPMDoc
	}
	c.file(source, target, 0o644, kind)
}

// otherName adds a manual page that has the text of another one, which has what this name does.
func (c *cargo) otherName(name, page string) {
	if c.err == nil {
		c.err = c.write("so/"+name+".8", ".so man8/"+page+".8\n")
	}
	c.doc(filepath.Join(c.dir, "so", name+".8"), "/usr/share/man/man8/"+name+".8.gz")
}

// papers adds licence and changelog, each at the place where the format has them.
func (c *cargo) papers() {
	changes := filepath.Join(c.tree, "CHANGELOG.md")
	if c.format == deb {
		c.err = c.write("copyright", debianCopyright+c.thirdParty())
		c.file(filepath.Join(c.dir, "copyright"), "/usr/share/doc/zramfs/copyright", 0o644, "")
		c.file(changes, "/usr/share/doc/zramfs/changelog.gz", 0o644, "")
		c.overrides()
		return
	}
	kind := ""
	if c.format == rpm {
		kind = files.TypeRPMLicense
	}
	c.file(filepath.Join(c.tree, "LICENSE"), "/usr/share/licenses/zramfs/LICENSE", 0o644, kind)
	c.file(filepath.Join(c.dir, "THIRD-PARTY"), "/usr/share/licenses/zramfs/THIRD-PARTY", 0o644, kind)
	c.doc(changes, "/usr/share/doc/zramfs/CHANGELOG.md")
}

const debianCopyright = `zramfs, compressed swap from user space
https://github.com/zramfs/zramfs

Copyright: the authors of zramfs
License: Apache-2.0

On Debian systems the full text of the Apache License, Version 2.0 is in
/usr/share/common-licenses/Apache-2.0.

`

// overrides says to lintian what is so on purpose.
func (c *cargo) overrides() {
	text := `# Go links everything into a program, so that it runs in any image.
zramfs: statically-linked-binary [usr/bin/zramfs]
zramfs: statically-linked-binary [usr/libexec/zramfsd]
# Only zramfs starts the server.
zramfs: no-manual-page [usr/libexec/zramfsd]
# Nobody uploads the package to Debian.
zramfs: initial-upload-closes-no-bugs *
# It is swap: a boot that reaches swap.target has it.
zramfs: systemd-service-file-refers-to-unusual-wantedby-target swap.target *
`
	if c.err == nil {
		c.err = c.write("overrides", text)
	}
	c.file(filepath.Join(c.dir, "overrides"), "/usr/share/lintian/overrides/zramfs", 0o644, "")
}

// changelog returns the path of this version's entry, in the words of package chglog.
func (c *cargo) changelog(version string) (string, error) {
	text := fmt.Sprintf("- semver: %q\n  date: %s\n  packager: %q\n  changes:\n    - note: \"changelog.gz has what is new.\"\n"+
		"  deb:\n    urgency: medium\n    distributions: [unstable]\n", version, c.time().Format(time.RFC3339), maintainer)
	return filepath.Join(c.dir, "changelog.yaml"), c.write("changelog.yaml", text)
}
