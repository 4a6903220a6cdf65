// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

// toolTimeout bounds a program such as mkfs, which on a healthy device is done
// in a second.
const toolTimeout = 60 * time.Second

// attachments are the ways to put a loop device on a device: ours, and the one
// that a user types after zramfs mount. mount detaches it again.
var attachments = map[string]func(t *testing.T, dir string) (loop string){
	"loopsetup": func(t *testing.T, dir string) string {
		dev, err := loopsetup.Attach(data(dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range dev.Warnings() {
			t.Error(err)
		}
		t.Cleanup(func() {
			if err := dev.Close(); err != nil {
				t.Error(err)
			}
		})
		return dev.Path()
	},
	"losetup": func(t *testing.T, dir string) string {
		return strings.TrimSpace(system(t, toolTimeout, "losetup", "--direct-io=on", "--sector-size", "4096", "-f", "--show", data(dir)))
	},
}

// onLoop runs a test on a device of 64 MiB and on a loop device on it, made in
// each of the ways.
func onLoop(t *testing.T, test func(t *testing.T, dir, loop string)) {
	require.FUSE(t)
	require.Root(t)
	require.Loop(t)
	for name, attach := range attachments {
		t.Run(name, func(t *testing.T) {
			if name == "losetup" {
				require.Command(t, name)
			}
			dir := mount(t, "--size", "64M")
			loop := attach(t, dir)
			info, err := loopsetup.Inspect(loop)
			if err != nil {
				t.Fatal(err)
			}
			if info.Backing != data(dir) || !info.DirectIO || info.BlockSize != 4096 || info.Size != 64<<20 {
				t.Errorf("%s is %+v", loop, info)
			}
			test(t, dir, loop)
			if s := statusOf(t, dir); s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors != 0 {
				t.Errorf("errors were counted: %+v", s.IO)
			}
		})
	}
}

// TestBlockFio lets fio write blocks of mixed sizes, many at a time, and verify
// them; then in random order once more.
func TestBlockFio(t *testing.T) {
	require.Command(t, "fio")
	onLoop(t, func(t *testing.T, _, loop string) {
		queue := []string{"--direct=1", "--ioengine=libaio", "--iodepth=32"}
		verify(t, loop, "64M", append(queue, "--rw=randwrite", "--bssplit=4k/60:16k/20:64k/15:512k/5")...)
		verify(t, loop, "64M", append(queue, "--rw=randrw", "--bsrange=4k-128k")...)
	})
}

// TestBlockFileSystem uses a device as a disk: ext4 with discard, files that come
// back after the file system was mounted anew, trimming, and fsck.
func TestBlockFileSystem(t *testing.T) {
	for _, program := range []string{"mkfs.ext4", "fsck.ext4", "fstrim", "mount", "umount"} {
		require.Command(t, program)
	}
	onLoop(t, func(t *testing.T, dir, loop string) {
		system(t, toolTimeout, "mkfs.ext4", "-q", loop)
		where := tempDir(t)
		files := filesOf(bytes.Join(pages.Mix(8192, 5), nil))
		withMount(t, loop, where, func() {
			for name, content := range files {
				if err := os.WriteFile(filepath.Join(where, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
		full := statusOf(t, dir).Memory.OrigDataSize
		withMount(t, loop, where, func() {
			n := 0
			for name, content := range files {
				got, err := os.ReadFile(filepath.Join(where, name))
				if err != nil || !bytes.Equal(got, content) {
					t.Fatalf("%s came back as %d bytes that differ, %v", name, len(got), err)
				}
				if n++; n%2 == 0 {
					if err := os.Remove(filepath.Join(where, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			unix.Sync()
			system(t, toolTimeout, "fstrim", where)
		})
		system(t, toolTimeout, "fsck.ext4", "-f", "-n", loop)
		trimmed := statusOf(t, dir)
		if now := trimmed.Memory.OrigDataSize; now > full-12<<20 || trimmed.IO.Discards == 0 {
			t.Errorf("%d bytes stored, %d after half of the files were removed and trimmed", full, now)
		}
	})
}

// filesOf cuts content into files of 1 byte to 1 MiB, 32 MiB in all at most.
func filesOf(content []byte) map[string][]byte {
	rng := rand.New(rand.NewPCG(9, 9))
	files := make(map[string][]byte)
	for len(content) > 0 {
		n := min(1+rng.IntN(1<<20), len(content))
		files["file-"+time.Duration(len(files)).String()], content = content[:n], content[n:]
	}
	return files
}

// withMount calls f while the file system on a device is mounted.
func withMount(t *testing.T, device, where string, f func()) {
	t.Helper()
	system(t, toolTimeout, "mount", "-o", "discard", device, where)
	defer system(t, toolTimeout, "umount", where)
	f()
}

// TestBlockDiscard fills a device with what does not compress and gives all of
// it back.
func TestBlockDiscard(t *testing.T) {
	require.Command(t, "blkdiscard")
	onLoop(t, func(t *testing.T, dir, loop string) {
		empty := statusOf(t, dir).Memory
		writeBlocks(t, loop, 32<<20)
		full := statusOf(t, dir).Memory
		if full.OrigDataSize != 32<<20 || full.MemUsedTotal < empty.MemUsedTotal+30<<20 {
			t.Errorf("after writing 32 MiB: %+v", full)
		}
		if got := statField(t, dir, 2); got < 30<<20 {
			t.Errorf("mm_stat says %d bytes used after writing 32 MiB", got)
		}
		system(t, toolTimeout, "blkdiscard", loop)
		if got := statusOf(t, dir).Memory; got.OrigDataSize != 0 || got.ComprDataSize != 0 || got.HugePages != 0 {
			t.Errorf("after blkdiscard: %+v", got)
		}
		// Empty segments are given back in the background.
		const tolerance = 2 << 20
		within(t, 20*time.Second, "memory is given back", func() bool {
			return statField(t, dir, 2) <= empty.MemUsedTotal+tolerance
		})
		if got := statField(t, dir, 0); got != 0 {
			t.Errorf("mm_stat says that %d bytes are stored", got)
		}
	})
}

// writeBlocks writes n bytes that do not compress from the start of a device.
func writeBlocks(t *testing.T, device string, n int) {
	t.Helper()
	source := filepath.Join(tempDir(t), "random")
	if err := os.WriteFile(source, bytes.Join(pages.Generate(pages.Random, n/pages.PageSize, 3), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	system(t, toolTimeout, "dd", "if="+source, "of="+device, "bs=1M", "oflag=direct", "status=none")
	system(t, toolTimeout, "cmp", "-n", itoa(n), source, device)
}

// within waits until a condition holds.
func within(t *testing.T, timeout time.Duration, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(timeout); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %s still not: %s", timeout, what)
		}
	}
}

// F071: mkswap of util-linux takes the device, and what it writes is the header
// that we read. Swap itself is another test's.
func TestF071MkswapTakesTheDevice(t *testing.T) {
	require.Command(t, "mkswap")
	require.Command(t, "blkid")
	onLoop(t, func(t *testing.T, _, loop string) {
		const uuid = "0d6f7e5c-8f3c-4a2e-9f0a-1b2c3d4e5f60"
		system(t, toolTimeout, "mkswap", "--uuid", uuid, "--label", "zramfs", loop)
		out := system(t, toolTimeout, "blkid", "--probe", "--output", "export", loop)
		for _, want := range []string{"TYPE=swap", "UUID=" + uuid, "LABEL=zramfs"} {
			if !strings.Contains(out, want) {
				t.Errorf("blkid shows no %s: %q", want, out)
			}
		}
	})
}
