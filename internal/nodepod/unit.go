// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/dist/systemd"
	"github.com/zramfs/zramfs/internal/onhost"
)

// Where systemd looks for units that are gone after a boot, and what shows that it runs.
const (
	runtimeUnits = "/run/systemd/system"
	unitPrefix   = "zramfs-pod@"
)

// A unit is the service of a device on a node that has systemd: the service of packages, with the
// installed program.
type unit struct{ name, text string }

// unitFor returns the unit of the device at dir, which the arguments turn on.
func unitFor(dir string, up []string) (unit, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(dir, "/run/"), "/"), "/", "-")
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return unit{}, fmt.Errorf("%w: --dir %s has characters that the name of a service cannot have", ErrUsage, dir)
	}
	program := filepath.Join(onhost.Programs(programs), "zramfs")
	lines := map[string]string{
		"ExecStart":  execLine(append([]string{program}, up...)...),
		"ExecReload": execLine(program, "upgrade", dir),
		"ExecStop":   execLine(program, "down", "--wait", "60", dir),
	}
	return unit{name: unitPrefix + name + ".service", text: withExec(systemd.Unit, lines)}, nil
}

// withExec returns the text of a unit with these commands in place of its own, and without what
// belongs to those and to installation.
func withExec(text string, commands map[string]string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "[Install]") {
			break
		}
		key, _, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "#"), key == "EnvironmentFile":
		case !strings.HasPrefix(key, "Exec"):
			b.WriteString(line)
		case commands[key] != "":
			fmt.Fprintf(&b, "%s=%s\n", key, commands[key])
			delete(commands, key)
		}
	}
	return b.String()
}

// execLine writes a command for systemd, which expands % and $ and knows the escapes of C.
func execLine(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strings.NewReplacer("%", "%%", "$", "$$").Replace(strconv.Quote(w))
	}
	return strings.Join(quoted, " ")
}

// start starts the unit. It returns false where the node has no systemd.
func (u unit) start(ctx context.Context, warn io.Writer) (managed bool, err error) {
	err = onhost.Within(func() error {
		if _, err := os.Stat(runtimeUnits); err != nil {
			return nil
		}
		managed = true
		if err := writeFile(filepath.Join(runtimeUnits, u.name), u.text); err != nil {
			return err
		}
		if err := systemctl(ctx, warn, "daemon-reload"); err != nil {
			return err
		}
		_ = systemctl(ctx, nil, "reset-failed", "--", u.name) // failed starts count for a limit; there may be none
		err := systemctl(ctx, nil, "start", "--", u.name)
		if err != nil {
			err = u.whyNot(ctx, warn, err)
		}
		return err
	})
	return managed, err
}

// whyNot shows what the service said, and returns its exit code as an error.
func (u unit) whyNot(ctx context.Context, warn io.Writer, err error) error {
	said := command(ctx, "journalctl", "--no-pager", "--quiet", "--output=cat", "--lines=5", "--unit="+u.name)
	said.Stdout = warn
	_ = said.Run() // the exit code remains
	status, e := command(ctx, "systemctl", "show", "--property=ExecMainStatus", "--value", "--", u.name).Output()
	if code, e2 := strconv.Atoi(strings.TrimSpace(string(status))); e == nil && e2 == nil && code != 0 {
		return &Failed{Command: "up, as " + u.name + ",", Code: code}
	}
	return fmt.Errorf("start %s: %w", u.name, err)
}

// remove removes the unit from a node that has systemd.
func (u unit) remove(ctx context.Context) error {
	return onhost.Within(func() error {
		err := os.Remove(filepath.Join(runtimeUnits, u.name))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return errors.Join(err, systemctl(ctx, nil, "daemon-reload"))
	})
}

// systemctl runs systemctl of the node. The thread is in the node's namespaces.
func systemctl(ctx context.Context, warn io.Writer, args ...string) error {
	cmd := command(ctx, "systemctl", args...)
	cmd.Stderr = warn
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("systemctl %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// command prepares a program of the node, which is looked for now.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path := name
	for dir := range strings.SplitSeq(onhost.Path, ":") {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			path = filepath.Join(dir, name)
			break
		}
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=" + onhost.Path}
	return cmd
}

// writeFile writes a file as a whole.
func writeFile(path, text string) error {
	fresh := path + ".new"
	err := os.WriteFile(fresh, []byte(text), 0o644)
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return nil
}
