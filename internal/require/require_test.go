// SPDX-License-Identifier: Apache-2.0

package require_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// childVariable tells a re-executed test binary which requirement to ask for.
const childVariable = "ZRAMFS_REQUIRE_TEST_CHILD"

// absentProgram is in no PATH.
const absentProgram = "zramfs-no-such-program"

var requirements = map[string]func(testing.TB){
	"fuse":     require.FUSE,
	"userns":   func(tb testing.TB) { require.UserNS(tb) },
	"root":     require.Root,
	"loop":     require.Loop,
	"swap":     require.Swap,
	"zram":     require.Zram,
	"pages":    require.Pages,
	"commands": func(tb testing.TB) { require.Command(tb, absentProgram) },
	"sh":       func(tb testing.TB) { require.Command(tb, "sh") },
	"avx512":   func(tb testing.TB) { require.Instructions(tb, "avx512", false) },
	"neon":     func(tb testing.TB) { require.Instructions(tb, "neon", true) },
	"ptxas":    func(tb testing.TB) { require.Ptxas(tb) },
	"libcuda":  func(tb testing.TB) { require.Libcuda(tb) },
	"gpu":      func(tb testing.TB) { require.GPU(tb, errors.New("no device that CUDA sees")) },
	"guest":    func(tb testing.TB) { require.Guest(tb) },
	"suites":   func(tb testing.TB) { require.Suite(tb, absentProgram) },
}

// TestChild is what the other tests start the test binary for; by itself it does
// nothing.
func TestChild(t *testing.T) {
	name, ok := os.LookupEnv(childVariable)
	if !ok {
		return
	}
	requirements[name](t)
	t.Log("the requirement is met")
}

// The outcomes of TestChild.
const (
	passed  = "PASS"
	skipped = "SKIP"
	failed  = "FAIL"
)

// askChild runs TestChild in a process of its own, which asks for the named
// requirement while the environment demands demanded, and returns its outcome
// and output. The wrapper, when there is one, is a command that executes its
// arguments.
func askChild(t *testing.T, name, demanded string, attr *syscall.SysProcAttr, wrapper ...string) (outcome, output string) {
	t.Helper()
	// An unprivileged child cannot enter the directory of the test binary, but it
	// can execute its own image.
	line := append(wrapper, "/proc/self/exe", "-test.run=^TestChild$", "-test.v")
	if len(wrapper) > 0 {
		binary, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		line[len(wrapper)] = binary
	}
	child := exec.Command(line[0], line[1:]...)
	child.Dir = "/"
	child.SysProcAttr = attr
	child.Env = append(os.Environ(),
		childVariable+"="+name,
		require.Variable+"="+demanded,
		"ZRAMFS_PAGES="+filepath.Join(t.TempDir(), "absent.zpg"),
		require.PtxasVariable+"="+filepath.Join(t.TempDir(), "absent"),
		require.LibcudaVariable+"="+t.TempDir(),
		require.GuestVariable+"="+t.TempDir())
	out, err := child.CombinedOutput()
	output = string(out)
	for _, outcome := range []string{passed, skipped, failed} {
		if strings.Contains(output, "--- "+outcome+": TestChild") {
			if (err != nil) != (outcome == failed) {
				t.Fatalf("outcome %s, but the process ended with %v:\n%s", outcome, err, output)
			}
			return outcome, output
		}
	}
	t.Fatalf("no outcome (%v):\n%s", err, output)
	return "", ""
}

// unprivileged returns the attributes of a process that is not root.
func unprivileged() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

func wantOutcome(t *testing.T, got, want, output string, contains ...string) {
	t.Helper()
	if got != want {
		t.Errorf("outcome %s, want %s:\n%s", got, want, output)
	}
	for _, text := range contains {
		if !strings.Contains(output, text) {
			t.Errorf("the message does not say %q:\n%s", text, output)
		}
	}
}

// Without a demand an unmet requirement skips and says how to meet it; with the
// demand it fails; with a demand for something else it skips.
func TestUnmetRequirement(t *testing.T) {
	for name, mend := range map[string]string{
		"root":     "run it as root",
		"loop":     "run it as root",
		"swap":     "run it as root",
		"zram":     "modprobe zram",
		"pages":    "go run ./tools/pagesample",
		"commands": "apt-get install " + absentProgram,
		"avx512":   "ZRAMFS_DISABLE",
		"ptxas":    "tools/get-nvidia.sh",
		"libcuda":  "tools/get-nvidia.sh DIR libcuda",
		"gpu":      "go test -tags cuda",
		"guest":    "qemu-system-x86",
		"suites":   "make suites",
	} {
		t.Run(name, func(t *testing.T) {
			outcome, output := askChild(t, name, "", unprivileged())
			wantOutcome(t, outcome, skipped, output, "needs "+name, mend)

			outcome, output = askChild(t, name, "fuse", unprivileged())
			wantOutcome(t, outcome, skipped, output)

			outcome, output = askChild(t, name, "fuse, "+name, unprivileged())
			wantOutcome(t, outcome, failed, output, require.Variable+" demands "+name, mend)
		})
	}
}

// With something else bound over /dev/fuse, opening it works and mounting does
// not: only a real trial can tell.
func TestUnmetFUSE(t *testing.T) {
	require.Root(t)
	require.Command(t, "mount")
	hideFUSE := []string{"sh", "-c", `mount --bind /dev/null /dev/fuse && exec "$@"`, "sh"}
	private := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	for _, name := range []string{"fuse", "userns"} {
		t.Run(name, func(t *testing.T) {
			outcome, output := askChild(t, name, "root", private, hideFUSE...)
			wantOutcome(t, outcome, skipped, output, "mount fuse in a new namespace")

			outcome, output = askChild(t, name, name, private, hideFUSE...)
			wantOutcome(t, outcome, failed, output, require.Variable+" demands "+name)
		})
	}
}

func TestMetRequirementPasses(t *testing.T) {
	for name, demanded := range map[string]string{"sh": "commands", "neon": "neon"} {
		outcome, output := askChild(t, name, demanded, unprivileged())
		wantOutcome(t, outcome, passed, output, "the requirement is met")
	}
}

// A misspelt demand must not look like a met one.
func TestUnknownDemandFails(t *testing.T) {
	outcome, output := askChild(t, "sh", "root,lop", unprivileged())
	wantOutcome(t, outcome, failed, output, `unknown requirement "lop"`, "userns")
}

// Swap is refused while some swap is on. The test cannot turn swap on, so it
// shows the child a /proc/swaps in which an area stands.
func TestSwapRefusesOtherSwap(t *testing.T) {
	require.Root(t)
	require.Command(t, "mount")
	swaps := filepath.Join(t.TempDir(), "swaps")
	listing := "Filename\tType\tSize\tUsed\tPriority\n/dev/sdz9 partition 1048576 0 -2\n"
	if err := os.WriteFile(swaps, []byte(listing), 0o644); err != nil {
		t.Fatal(err)
	}
	show := []string{"sh", "-c", fmt.Sprintf(`mount --bind %s /proc/swaps && exec "$@"`, swaps), "sh"}
	private := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	outcome, output := askChild(t, "swap", "swap", private, show...)
	wantOutcome(t, outcome, failed, output, "/dev/sdz9", "swapoff /dev/sdz9")
}

// The attributes that UserNS returns start a program that is root inside.
func TestUserNSReturnsItsNamespace(t *testing.T) {
	attr := require.UserNS(t)
	id := exec.Command("sh", "-c", "id -u; cat /proc/self/uid_map")
	id.Dir = "/"
	id.SysProcAttr = attr
	out, err := id.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := os.Geteuid()
	if want == 0 {
		want = 65534
	}
	if got := strings.Fields(string(out)); strings.Join(got, " ") != fmt.Sprintf("0 0 %d 1", want) {
		t.Errorf("user and map are %q, want 0 and 0 %d 1", got, want)
	}
}
