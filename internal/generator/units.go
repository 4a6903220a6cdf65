// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/host"
)

const (
	unitDir  = "usr/lib/systemd/system"
	localDir = "usr/local/lib/systemd/system" // which systemd searches first
	template = "zramfs@.service"
	sleep    = "zramfs-sleep@.service"
	foreign  = "systemd-zram-setup@.service" // zram-generator's
)

// A Device is one that a unit is to start.
type Device struct {
	Name   string // the unit's instance
	Dir    string // absolute
	Spill  string // path of the backing device; empty for none
	Source string // the file that asks for it; empty for none
}

// unit is the name of a template's instance for d.
func (d Device) unit(template string) string { return strings.Replace(template, "@", "@"+d.Name, 1) }

// wishes are the directories of links to units, by the template: systemd starts zramfs-sleep@
// before the machine sleeps, and does not hibernate without it.
var wishes = map[string][]string{
	template: {"swap.target.wants"},
	sleep: {"sleep.target.wants", "systemd-hibernate.service.requires", "systemd-hybrid-sleep.service.requires",
		"systemd-suspend-then-hibernate.service.requires"},
}

// Write writes the units of the devices below dir, the first directory of a generator's arguments.
// root has the units that are installed. It goes on after a failure.
func Write(root host.Root, dir string, all []Device) error {
	var failed []error
	_, err := os.Lstat(root.Path(unitDir, foreign))
	free := errors.Is(err, fs.ErrNotExist)
	units := unitDir
	if _, err := os.Stat(root.Path(localDir, template)); err == nil {
		units = localDir
	}
	for _, d := range all {
		for template, places := range wishes {
			for _, place := range places {
				failed = append(failed, link(filepath.Join(dir, place, d.unit(template)), units, template))
			}
		}
		if free {
			failed = append(failed, link(filepath.Join(dir, d.unit(foreign)), units, template))
		}
		if text := d.dropIn(); text != "" {
			failed = append(failed, write(filepath.Join(dir, d.unit(template)+".d", "50-zramfs-generator.conf"), text))
		}
	}
	return errors.Join(failed...)
}

// dropIn returns the text of the drop-in: where the device is configured, and what has to be there
// before it; empty if that is nothing.
func (d Device) dropIn() string {
	var text strings.Builder
	if d.Source != "" {
		fmt.Fprintf(&text, "SourcePath=%s\n", specifiers(d.Source))
	}
	var after, mounts []string
	// The unit has these two.
	if d.Dir != config.PlainDir(d.Name) && d.Dir != config.DefaultDir {
		after = append(after, unitName(d.Dir)+".mount")
	}
	for _, path := range []string{filepath.Dir(d.Dir), filepath.Dir(d.Spill)} {
		if !below(path, "/run") && !below(path, "/dev") && path != "." {
			mounts = append(mounts, path)
		}
	}
	if len(mounts) > 0 { // the file system of / is writable from then on
		after = append(after, "systemd-remount-fs.service")
	}
	if below(d.Spill, "/dev") {
		unit := unitName(d.Spill) + ".device"
		fmt.Fprintf(&text, "Wants=%s\n", specifiers(unit))
		after = append(after, unit)
	}
	if len(after) > 0 {
		fmt.Fprintf(&text, "After=%s\n", specifiers(strings.Join(after, " ")))
	}
	for _, path := range mounts {
		fmt.Fprintf(&text, "RequiresMountsFor=%s\n", quote(path))
	}
	if text.Len() == 0 {
		return ""
	}
	return "# Written by zramfs-generator.\n\n[Unit]\n" + text.String()
}

// below reports whether a cleaned path is dir or lies below it.
func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// unitName returns the name of the unit for a cleaned absolute path, without the suffix
// (systemd.unit(5), "string escaping").
func unitName(path string) string {
	if path == "/" {
		return "-"
	}
	var out strings.Builder
	for i, c := range []byte(path[1:]) {
		switch {
		case c == '/':
			out.WriteByte('-')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == ':', c == '_', c == '.' && i > 0:
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, `\x%02x`, c)
		}
	}
	return out.String()
}

// specifiers keeps systemd from reading a percent sign as one.
func specifiers(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// quote writes a path as one word of a list.
func quote(path string) string {
	if !strings.ContainsAny(path, " \t\"'\\") {
		return specifiers(path)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(path) + `"`
}

// link makes a link to a template in the directory units.
func link(path, units, template string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink("/"+filepath.Join(units, template), path)
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
