// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/require"
)

// kubeletScript is a process named kubelet that waits for the end of its input.
const kubeletScript = "#!/bin/sh\nread -r line\n"

// besideKubelet starts the kubelet in a PID namespace, so that nothing else on the machine sees it,
// and then the program. FUSE is hidden: an up that does not refuse fails there, with another code.
const besideKubelet = `
set -u
mount -t proc proc /proc
mount --bind /dev/null /dev/fuse
kubelet=$1; shift
mkfifo "$kubelet.in"
"$kubelet" --config="$kubelet.yaml" <"$kubelet.in" &
exec 4>"$kubelet.in"
until [ "$(cat /proc/$!/comm)" = kubelet ]; do sleep 0.02; done
timeout -s KILL 25 /proc/self/fd/3 "$@"
code=$?
exec 4>&-
wait $!
exit $code`

// TestUpBesideKubelet wants up to refuse with its exit code before it changes anything, and doctor
// to name the same reason.
func TestUpBesideKubelet(t *testing.T) {
	require.Root(t)
	require.Command(t, "unshare")
	for _, test := range []struct {
		config, args string
		code         int
		text         string
	}{
		{"kind: KubeletConfiguration\n", "up DIR --size 64M", exitKubelet, "has failSwapOn true by the default: with swap on it does not start again"},
		{"failSwapOn: true\n", "up DIR --size 64M --quiet", exitKubelet, "--force. Nothing was changed"},
		{"failSwapOn: maybe\n", "up DIR --size 64M", exitKubelet, "cannot be told"},
		{"failSwapOn: true\n", "doctor", exitFailure, "fail  kubelet: the kubelet (process "},
		{"failSwapOn: false\n", "doctor --kubernetes", exitFailure, "(kubelet) starts where swap is on: failSwapOn is false by "},
		{"failSwapOn: false\n", "doctor --kubernetes --configz -", exitFailure, "read the answer of /configz"},
	} {
		t.Run(test.args+" "+strings.TrimSpace(test.config), func(t *testing.T) {
			home := t.TempDir()
			program, dir := filepath.Join(home, "kubelet"), filepath.Join(home, "device")
			if err := errors.Join(os.WriteFile(program, []byte(kubeletScript), 0o755), os.WriteFile(program+".yaml", []byte(test.config), 0o600)); err != nil {
				t.Fatal(err)
			}
			self, err := os.Open("/proc/self/exe")
			if err != nil {
				t.Fatal(err)
			}
			defer self.Close()
			args := strings.Fields(strings.ReplaceAll(test.args, "DIR", dir))
			cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-c", besideKubelet, "sh", program}, args...)...)
			cmd.ExtraFiles = []*os.File{self}
			cmd.Env = append(os.Environ(), asProgram+"=1")
			got := runCommand(t, cmd)
			if got.code != test.code || !strings.Contains(got.stdout+got.stderr, test.text) {
				t.Errorf("%d, %q, %q; want %d, %q", got.code, got.stdout, got.stderr, test.code, test.text)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s was made", dir)
			}
		})
	}
}

func TestUpWithoutKubelet(t *testing.T) {
	if err := allowedByKubelet(host.Root(t.TempDir())); err != nil {
		t.Error(err)
	}
}

// TestDoctorKubernetesUsage wants flags that need another, or an input that is none, to be refused.
func TestDoctorKubernetesUsage(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, test := range []struct {
		args string
		code int
		text string
	}{
		{"doctor --pods x", exitUsage, "belong to --kubernetes"},
		{"doctor --configz x", exitUsage, "belong to --kubernetes"},
		{"doctor --kubernetes --pods - --configz -", exitUsage, "both"},
		{"doctor --kubernetes --pods " + none, exitFailure, "no such file"},
		{"doctor --kubernetes --pods -", exitFailure, "read the list of pods"},
	} {
		if got := runProgram(t, strings.Fields(test.args)...); got.code != test.code || !strings.Contains(got.stderr, test.text) || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%s: %+v; want %d, %q", test.args, got, test.code, test.text)
		}
	}
	got := runProgram(t, "doctor", "--kubernetes", "--pods", "../podswap/testdata/pods.json")
	if !strings.Contains(got.stdout, "security-module: ") || got.stderr != "" {
		t.Errorf("%+v", got)
	}
}
