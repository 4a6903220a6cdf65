// SPDX-License-Identifier: Apache-2.0

package integration

// A docCommand is a line of a block in a document, and how TestSwapF096DocsCommands runs it.
type docCommand struct {
	page, line string
	// on is what it runs on; empty where it cannot be run here.
	on string
	// with are pairs of old and new text in which the line that is run differs from that of the
	// document. The test replaces words in capitals.
	with []string
	// why it cannot be run here, and which test runs it elsewhere.
	why string
}

// Devices and files that commands run on.
const (
	onData  = "data"  // a device that holds data, with a backing device
	onFiles = "files" // files alone
	onSwap  = "swap"  // a device that may be swapped to
	onDying = "dying" // a device that ends
)

// docCommands are all commands in the blocks of docs. The lines that run on the same are in the
// order of running.
var docCommands = []docCommand{
	{page: "attributes.md", line: "echo 3600 > DIR/block/zram0/idle", on: onData},
	{page: "attributes.md", line: "echo idle > DIR/block/zram0/writeback", on: onData},
	{page: "attributes.md", line: "zramfs set DIR writeback-limit=1G", on: onData},
	{page: "commands.md", line: "zramfs set 'recomp-algorithm=zstd(level=9)'", on: onData, with: []string{"set ", "set DIR "}},
	{page: "commands.md", line: "zramfs idle --age 1h", on: onData, with: []string{"1h", "1h DIR"}},
	{page: "commands.md", line: "zramfs recompress --type idle", on: onData, with: []string{"type idle", "type idle DIR"}},
	{page: "snapshot-format.md", line: "head -c -36 FILE | sha256sum", on: onData, with: []string{"head", "zramfs snapshot save DIR FILE >/dev/null; head"}},

	{page: "commands.md", line: "zramfs doctor --kubernetes --configz configz --pods pods", on: onFiles},
	{page: "monitoring.md", line: "(umask 077; head -c 24 /dev/urandom | base64 > /etc/zramfs.token)", on: onFiles, with: []string{"/etc", "WORK"}},
	{page: "monitoring.md", line: "* * * * * root zramfs metrics > /var/lib/node_exporter/zramfs.prom.new && mv /var/lib/node_exporter/zramfs.prom.new /var/lib/node_exporter/zramfs.prom",
		on: onFiles, with: []string{"* * * * * root ", "", "/var/lib/node_exporter", "WORK"}},
	{page: "operations.md", line: `echo 'OPTIONS="--size 4G --tune recommended"' > /etc/default/zramfs`, on: onFiles, with: []string{"/etc/default", "WORK"}},
	{page: "operations.md", line: "ln -s /usr/bin/zramfs /sbin/mount.zramfs", on: onFiles, with: []string{"/sbin", "WORK"}},
	{page: "operations.md", line: "ln -s /usr/bin/zramfs /sbin/mount.fuse.zramfs", on: onFiles, with: []string{"/sbin", "WORK"}},

	{page: "commands.md", line: "zramfs mount --size 4G /run/zram", on: onSwap, with: []string{"/run/zram", "DIR"}},
	{page: "commands.md", line: "zramfs exec -- zramctl", on: onSwap, with: []string{"exec", "exec DIR"}},
	{page: "commands.md", line: "zramfs exec /run/zram -- sh -c 'mkswap /dev/zram0 && swapon -p 100 /dev/zram0'", on: onSwap,
		with: []string{"/run/zram", "DIR", "100 /dev/zram0", "100 /dev/zram0 && swapoff /dev/zram0"}},
	{page: "commands.md", line: "losetup --direct-io=on --sector-size 4096 -f --show /run/zram/dev/zram0", on: onSwap, with: []string{"/run/zram", "DIR"}},
	{page: "commands.md", line: "mkswap /dev/loop0 && swapon --discard=pages /dev/loop0", on: onSwap, with: []string{"/dev/loop0", "LOOP"}},
	{page: "safety.md", line: "swapoff /dev/loopN", on: onSwap, with: []string{"/dev/loopN", "LOOP"}},

	{page: "safety.md", line: "mount -t fusectl none /sys/fs/fuse/connections", on: onDying, with: []string{"/sys/fs/fuse/connections", "WORK"}},
	{page: "safety.md", line: "echo 1 > /sys/fs/fuse/connections/NUMBER/abort", on: onDying, with: []string{"/sys/fs/fuse/connections", "WORK"}},

	{page: "commands.md", line: "dev=$(zramctl -f -s 4G -a lz4)", why: "it makes the machine's /run/zram: TestF069ZramctlSetsUp"},
	{page: "commands.md", line: "mkswap $dev && swapon -p 100 $dev", why: "it follows zramctl -f"},
	{page: "commands.md", line: "zramctl", why: "it follows zramctl -f: TestF069ZramctlPrints"},
	{page: "commands.md", line: "swapoff $dev && zramctl -r $dev", why: "it follows zramctl -f"},
	{page: "commands.md", line: "kubectl get --raw /api/v1/nodes/NODE/proxy/configz >configz", why: needsCluster},
	{page: "commands.md", line: "kubectl get pods -A -o json --field-selector spec.nodeName=NODE >pods", why: needsCluster},
	{page: "design.md", line: "zramfs up, down, status, ...         a command; ends when its work is done", why: "it is part of a drawing"},
	{page: "gpu.md", line: "tools/get-nvidia.sh /tmp/ptxas ptxas", why: "it needs Debian's mirror: .ci/run runs it"},
	{page: "gpu.md", line: "/tmp/ptxas/ptxas -arch=sm_90 -v kernel.ptx -o kernel.cubin", why: "it needs ptxas: the tests of gpu run it where it is"},
	{page: "gpu.md", line: "ZRAMFS_PTXAS=/tmp/ptxas/ptxas go test ./gpu/...", why: "it needs ptxas, and takes minutes: make check runs these tests"},
	{page: "gpu.md", line: "gpu/check.sh -build", why: "it compiles for minutes: TestScript of tools/gpucheck reads the script"},
	{page: "gpu.md", line: "go run ./tools/pagesample -max-pages 1000 -o gpu/check.pages", why: "it starts programs for a minute: make sample does"},
	{page: "gpu.md", line: "gpu/check.sh", why: "it needs a GPU"},
	{page: "kubernetes.md", line: "helm install zramfs dist/helm/zramfs --namespace zramfs-system --create-namespace", why: needsCluster},
	{page: "kubernetes.md", line: "kubectl label namespace zramfs-system pod-security.kubernetes.io/enforce=privileged", why: needsCluster},
	{page: "kubernetes.md", line: "kubectl apply --server-side -f dist/kubernetes/zramfs.yaml", why: needsCluster},
	{page: "kubernetes.md", line: "kubectl -n zramfs-system rollout status daemonset/zramfs", why: needsCluster},
	{page: "kubernetes.md", line: "kubectl -n zramfs-system exec daemonset/zramfs -- zramfs node zramfs status", why: needsCluster},
	{page: "kubernetes.md", line: "kubectl drain NODE --ignore-daemonsets", why: needsCluster},
	{page: "kubernetes.md", line: "kubectl -n zramfs-system delete pod --field-selector spec.nodeName=NODE", why: needsCluster},
	{page: "monitoring.md", line: "zramfs serve --listen 0.0.0.0:9633 --token-file /etc/zramfs.token --tls-cert cert.pem --tls-key key.pem", why: "it does not end: TestServeTLS"},
	{page: "microvm.md", line: `systemctl --root "$ROOTFS_DIR" enable zramfs@zram0.service`, why: needsSystemd},
	{page: "operations.md", line: "apt install ./zramfs_*_amd64.deb", why: needsPackages},
	{page: "operations.md", line: "dnf install ./zramfs-*.x86_64.rpm", why: needsPackages},
	{page: "operations.md", line: "apk add --allow-untrusted ./zramfs_*_x86_64.apk", why: needsPackages},
	{page: "operations.md", line: "systemctl enable --now zramfs@zram0.service", why: needsSystemd},
	{page: "operations.md", line: "systemctl daemon-reload && systemctl start zramfs@zram0.service", why: needsSystemd},
}

const (
	needsCluster  = "it needs a cluster of Kubernetes: make test-kubernetes has an API server"
	needsPackages = "it installs a package: make test-packages does in another system"
	needsSystemd  = "it needs systemd: TestSwapF067Systemd, in a container"
)
