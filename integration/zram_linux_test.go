// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// zramControl makes and removes the kernel's zram devices
// (Documentation/ABI/testing/sysfs-block-zram).
const zramControl = "/sys/class/zram-control"

// hotAdd makes a zram device of the kernel for the test and returns its number.
// A file below root remembers it for the janitor.
func hotAdd(t testing.TB, algorithm, disksize string) (number string) {
	t.Helper()
	text, err := os.ReadFile(zramControl + "/hot_add")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the kernel has no zram to compare with (modprobe zram num_devices=0)")
	}
	if err != nil {
		t.Fatal(err)
	}
	number = strings.TrimSpace(string(text))
	if err := os.WriteFile(zramMark(root, number), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeZram(root, number); err != nil {
			t.Error(err)
		}
	})
	for _, set := range [][2]string{{"comp_algorithm", algorithm}, {"disksize", disksize}} {
		if err := os.WriteFile(zramAttribute(number, set[0]), []byte(set[1]), 0); err != nil {
			t.Fatal(err)
		}
	}
	return number
}

func zramAttribute(number, name string) string { return "/sys/block/zram" + number + "/" + name }

func zramMark(dir, number string) string { return filepath.Join(dir, "zram-"+number) }

// removeZram removes a device of hotAdd, and then its mark below dir.
func removeZram(dir, number string) error {
	if err := os.WriteFile(zramAttribute(number, "reset"), []byte("1"), 0); err != nil {
		return err
	}
	if err := os.WriteFile(zramControl+"/hot_remove", []byte(number), 0); err != nil {
		return err
	}
	return os.Remove(zramMark(dir, number))
}

// zramsBelow returns the numbers of the devices with a mark below dir.
func zramsBelow(dir string) ([]string, error) {
	marks, err := filepath.Glob(zramMark(dir, "*"))
	for i := range marks {
		marks[i] = strings.TrimPrefix(filepath.Base(marks[i]), "zram-")
	}
	return marks, err
}
