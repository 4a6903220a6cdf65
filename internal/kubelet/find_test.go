// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

// machineWith returns a machine with a process of that name and command line, and files of testdata
// by the places where the kubelet has them.
func machineWith(t *testing.T, name, args string, files map[string]string) host.Root {
	t.Helper()
	m := host.Root(t.TempDir())
	addProcess(t, m, 812, name, args)
	for to, from := range files {
		text := []byte(from)
		if strings.HasPrefix(from, "testdata/") {
			var err error
			if text, err = os.ReadFile(from); err != nil {
				t.Fatal(err)
			}
		}
		write(t, m.Path(to), text)
	}
	return m
}

func addProcess(t *testing.T, m host.Root, pid int, name, args string) {
	t.Helper()
	write(t, m.Path("proc", fmt.Sprint(pid), "stat"), fmt.Appendf(nil, "%d (%s) S 1 1 1 0 -1 4194560 1 1 0 0 10 10 0 0 20 0 9 0 %d 1 1\n", pid, name, 4000-pid))
	write(t, m.Path("proc", fmt.Sprint(pid), "cmdline"), []byte(strings.ReplaceAll(args, " ", "\x00")+"\x00"))
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree returns the files of a directory of testdata by the places below dir.
func tree(t *testing.T, from, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(from), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[filepath.Join(dir, path)] = filepath.Join(from, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The configurations of testdata are written as the installers write them.
func TestSettingsOfInstallers(t *testing.T) {
	const kubeadm = "/usr/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml"
	const file = "/var/lib/kubelet/config.yaml"
	const memory = "memory.available"
	for _, test := range []struct {
		name, comm, args string
		files            map[string]string
		fail             bool
		from             string // of failSwapOn
		behavior, evict  string // of memory.available
	}{
		{"no file", "kubelet", "kubelet", nil, true, "the default", NoSwap, "100Mi"},
		{"kubeadm", "kubelet", kubeadm, map[string]string{file: "testdata/kubeadm.yaml"}, true, "the default", NoSwap, "100Mi"},
		{"kubeadm, flag", "kubelet", kubeadm + " --fail-swap-on=false", map[string]string{file: "testdata/kubeadm.yaml"}, false, "the command line", NoSwap, "100Mi"},
		{"GKE", "kubelet", "/home/kubernetes/bin/kubelet --v=2 --config /home/kubernetes/kubelet-config.yaml", map[string]string{"home/kubernetes/kubelet-config.yaml": "testdata/gke.yaml"},
			false, "/home/kubernetes/kubelet-config.yaml", LimitedSwap, "100Mi"},
		{"GKE, flag", "kubelet", "kubelet --config /k --fail_swap_on", map[string]string{"k": "testdata/gke.yaml"}, true, "the command line", LimitedSwap, "100Mi"},
		{"EKS", "kubelet", "/usr/bin/kubelet --config-dir=/etc/kubernetes/kubelet/config.json.d --config=/etc/kubernetes/kubelet/config.json",
			map[string]string{"etc/kubernetes/kubelet/config.json": "testdata/eks.json"}, true, "the default", NoSwap, "100Mi"},
		{"AKS", "kubelet", "/usr/local/bin/kubelet --config /etc/default/kubeletconfig.json --eviction-hard=memory.available<100Mi,nodefs.available<10%",
			map[string]string{"etc/default/kubeletconfig.json": "testdata/aks.json"}, false, "/etc/default/kubeletconfig.json", NoSwap, "100Mi"},
		{"k3s before 1.32", "k3s-server", "/usr/local/bin/k3s server", nil, false, "the distribution's default", NoSwap, "100Mi"},
		{"k3s", "k3s-agent", "/usr/local/bin/k3s agent", tree(t, "testdata/k3s", k3sDropIns), false, k3sDropIns + "/00-k3s-defaults.conf", LimitedSwap, ""},
		{"k3s, argument", "k3s-server", "/usr/local/bin/k3s server", map[string]string{k3sConfig: "kubelet-arg:\n- \"fail-swap-on=true\"\n# - fail-swap-on=false\n"},
			true, "the command line", NoSwap, "100Mi"},
		{"MicroK8s", "kubelite", "/snap/microk8s/1/kubelite --kubelet-args-file=/var/snap/microk8s/1/args/kubelet",
			map[string]string{"var/snap/microk8s/1/args/kubelet": "# of the snap\n--fail-swap-on=false\n--eviction-hard=\"memory.available<200Mi\"\n"},
			false, "the command line", NoSwap, "200Mi"},
		{"drop-ins", "kubelet", kubeadm + " --config-dir=/etc/kubelet.d", union(map[string]string{file: "testdata/kubeadm.yaml"}, tree(t, "testdata/dropins", "etc/kubelet.d")),
			false, "/etc/kubelet.d/10-swap.conf", NoSwap, "1%"},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := Find(machineWith(t, test.comm, test.args, test.files))
			if len(all) != 1 || all[0].Err != nil {
				t.Fatalf("found %+v", all)
			}
			k := all[0]
			if k.FailSwapOn != test.fail || k.From(KeyFailSwapOn) != test.from || k.SwapBehavior != test.behavior || k.EvictionHard[memory] != test.evict {
				t.Errorf("failSwapOn %v by %s, %s, eviction at %q", k.FailSwapOn, k.From(KeyFailSwapOn), k.SwapBehavior, k.EvictionHard[memory])
			}
			if err := Refusal(all); (err != nil) != test.fail {
				t.Errorf("refusal: %v", err)
			}
		})
	}
}

func union(a, b map[string]string) map[string]string {
	maps.Copy(a, b)
	return a
}

// The order of drop-ins is that of their paths, a null takes a value away, and objects merge.
func TestDropInsMerge(t *testing.T) {
	all := Find(machineWith(t, "kubelet", "kubelet --config-dir /d", tree(t, "testdata/dropins", "d")))
	if len(all) != 1 || all[0].Err != nil {
		t.Fatalf("%+v", all)
	}
	k := all[0]
	if want := []string{"/d/10-swap.conf", "/d/90-none.conf", "/d/sub/20-late.conf"}; !reflect.DeepEqual(k.Files, want) {
		t.Errorf("read %q, want %q", k.Files, want)
	}
	if k.EvictionHard["nodefs.available"] != "3%" || k.EvictionHard["memory.available"] != "1%" || k.SystemReserved["memory"] != "1Gi" || k.SystemReserved["cpu"] != "100m" {
		t.Errorf("%+v", k.Settings)
	}
}

// A setting that cannot be told is a refusal with its reason.
func TestSettingsThatCannotBeTold(t *testing.T) {
	for _, test := range []struct{ comm, args, file, want string }{
		{"kubelet", "kubelet --config=/c", "failSwapOn: [false]\n", "/c: failSwapOn: line 1: cannot unmarshal !!seq into bool. "},
		{"kubelet", "kubelet --config=/c", "failSwapOn: perhaps\n", "Set failSwapOn: false in /c and restart"},
		{"kubelet", "kubelet --config=/c", "a: b\n\nfailSwapOn: maybe\n", "failSwapOn: line 3: cannot unmarshal !!str `maybe` into bool"},
		{"kubelet", "kubelet --config=/c", "failSwapOn: false\nfailSwapOn: true\n", `line 2: mapping key "failSwapOn" already defined at line 1`},
		{"kubelet", "kubelet --config=/c", "<<: *base\n", "unknown anchor"},
		{"kubelet", "kubelet --config=/c", "- failSwapOn: false\n", "line 1"},
		{"kubelet", "kubelet --config=/c", "\tfailSwapOn: false\n", "yaml: "},
		{"kubelet", "kubelet --config=/c", "memorySwap: NoSwap\n", "memorySwap: line 1"},
		{"kubelet", "kubelet --config=/c", `{"failSwapOn": 7}`, "failSwapOn: line 1: cannot unmarshal !!int `7` into bool"},
		{"kubelet", "kubelet --config=/other", "", "no such file"},
		{"kubelet", "kubelet --config=/", "", "is no file"},
		{"kubelet", "kubelet --fail-swap-on=perhaps", "", "neither true nor false"},
		{"kubelet", "kubelet --feature-gates=NodeSwap=perhaps", "", "--feature-gates=NodeSwap=perhaps is neither true nor false"},
		{"kubelite", "kubelite --x", "", "no --kubelet-args-file"},
	} {
		all := Find(machineWith(t, test.comm, test.args, map[string]string{"c": test.file}))
		err := Refusal(all)
		if len(all) != 1 || err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "which cannot be told") {
			t.Errorf("%s %q: %v; want %q", test.args, test.file, err, test.want)
		}
	}
}

// A file is read as the kubelet reads it: YAML 1.1 has more words for true and false, and what lies
// behind the first document does not count.
func TestWaysToWriteFalse(t *testing.T) {
	for _, text := range []string{
		"failSwapOn: no\n", "failSwapOn: Off # e\r\n", "'failSwapOn' : false\n", "x: &x false\nfailSwapOn: *x\n", "base: &b {failSwapOn: false}\n<<: *b\n",
		"---\na: |\n  failSwapOn: true\nfailSwapOn: false\n---\nfailSwapOn: true\n", "{failSwapOn: false}\n", "{\n\t\"failSwapOn\": false\n}\n",
		"\ufefffailSwapOn: false\n",
	} {
		all := Find(machineWith(t, "kubelet", "kubelet --config=/c", map[string]string{"c": text}))
		if len(all) != 1 || all[0].Err != nil || all[0].FailSwapOn {
			t.Errorf("%q: %+v", text, all)
		}
	}
}

// Flags replace what a file has, and a flag that is there again adds to itself.
func TestFlagsOverFile(t *testing.T) {
	const args = "kubelet --config=/c --eviction-hard=memory.available<5% --eviction-hard nodefs.available<7% --feature-gates=A=true,NodeSwap=false"
	all := Find(machineWith(t, "kubelet", args, map[string]string{"c": "evictionHard: {imagefs.available: 1%}\nkubeReserved: {cpu: 1}\nfeatureGates: {NodeSwap: true, B: x}\n"}))
	if len(all) != 1 || all[0].Err != nil {
		t.Fatalf("%+v", all)
	}
	k := all[0]
	if want := map[string]string{"memory.available": "5%", "nodefs.available": "7%"}; !reflect.DeepEqual(k.EvictionHard, want) || k.KubeReserved["cpu"] != "1" || k.NodeSwap {
		t.Errorf("%+v", k.Settings)
	}
}

func TestFindAmongOthers(t *testing.T) {
	m := machineWith(t, "kubelet", "kubelet --fail-swap-on=false", nil)
	addProcess(t, m, 900, "kubelet", "kubelet --fail-swap-on=true") // it was started before the other
	addProcess(t, m, 901, "kubelet-helper", "kubelet-helper")
	all := Find(m)
	if len(all) != 2 || all[0].Process.PID != 900 {
		t.Fatalf("%+v", all)
	}
	if err := Refusal(all); err == nil || !strings.Contains(err.Error(), "process 900") || !strings.Contains(err.Error(), "--fail-swap-on=false") {
		t.Error(err)
	}
	if all := Find(host.Root(t.TempDir())); all != nil {
		t.Errorf("found %+v where nothing runs", all)
	}
}

// A process of a user that has the name of the kubelet decides nothing.
func TestFindNamesakes(t *testing.T) {
	for status, want := range map[string]int{
		"Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n":             1,
		"Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n":             0, // root of a container
		"Uid:\t1000\t1000\t1000\t1000\nCapEff:\t000001ffffffffff\n": 0, // in a user namespace of its own
	} {
		m := machineWith(t, "kubelet", "kubelet", map[string]string{"proc/812/status": status})
		if all := Find(m); len(all) != want {
			t.Errorf("%q: found %+v", status, all)
		}
	}
}

// The files are those of the kubelet's mount namespace.
func TestFindInOtherNamespace(t *testing.T) {
	m := machineWith(t, "kubelet", "kubelet --config config.yaml", map[string]string{
		"proc/812/root/srv/config.yaml": "failSwapOn: no\n", "srv/config.yaml": "failSwapOn: yes\n"})
	for link, to := range map[string]string{"proc/self/ns/mnt": "mnt:[1]", "proc/812/ns/mnt": "mnt:[2]", "proc/812/cwd": "/srv"} {
		if err := os.MkdirAll(filepath.Dir(m.Path(link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, m.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	if all := Find(m); len(all) != 1 || all[0].Err != nil || all[0].FailSwapOn {
		t.Errorf("%+v", all)
	}
}

// Links are those of the machine, also where it lies below another directory, as for a pod.
func TestLinksOfMachine(t *testing.T) {
	const args = "kubelet --config=/var/lib/kubelet/config.yaml --config-dir=/etc/kubelet/conf.d"
	m := machineWith(t, "kubelet", args, map[string]string{"data/kubelet/config.yaml": "failSwapOn: false\n",
		"opt/conf.d/none": "", "opt/swap.conf": "memorySwap:\n  swapBehavior: LimitedSwap\n"})
	for path, to := range map[string]string{"var/lib/kubelet": "/data/disk/../data/kubelet", "data/disk": "/data", "etc/kubelet": "../opt", "opt/conf.d/10.conf": "/opt/swap.conf"} {
		write(t, m.Path(filepath.Dir(path), "x"), nil)
		if err := os.Symlink(to, m.Path(path)); err != nil {
			t.Fatal(err)
		}
	}
	all := Find(m)
	if len(all) != 1 || all[0].Err != nil || all[0].FailSwapOn || all[0].SwapBehavior != LimitedSwap {
		t.Fatalf("found %+v", all)
	}
	if from := all[0].From(KeyMemorySwap); from != "/etc/kubelet/conf.d/10.conf" {
		t.Errorf("the behavior is by %s", from)
	}
	for _, path := range []string{"loop/a", "/loop"} {
		if err := os.Symlink("/loop/x", m.Path("loop")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		if _, err := newSystem(m, 812).file(path); err == nil {
			t.Errorf("%s can be read", path)
		}
	}
}

func TestConfigz(t *testing.T) {
	s, err := ParseConfigz([]byte(`{"kubeletconfig":{"failSwapOn":false,"memorySwap":{"swapBehavior":"LimitedSwap"},"evictionHard":{"memory.available":"5%"},"featureGates":{"NodeSwap":false}}}`))
	if err != nil || s.FailSwapOn || s.SwapBehavior != LimitedSwap || s.EvictionHard["memory.available"] != "5%" || s.NodeSwap || s.From(KeyFailSwapOn) != "/configz" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "{}", "Unauthorized", `{"kubeletconfig":{"memorySwap":3}}`} {
		if _, err := ParseConfigz([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"kubeadm.yaml", "gke.yaml", "eks.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := config{from: map[string]string{}}
		_ = c.add(text, "x")
		_ = c.settings(nil)
	})
}
