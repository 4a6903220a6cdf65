// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The blocks in the file were put together by hand or written once, by us and by another library.
// The reference says of each what the file does, and judge holds all decoders to the reference.
func TestVectors(t *testing.T) {
	const path = "testdata/vectors.txt"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks, refused := 0, 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 4 {
			t.Fatalf("%s: not four fields: %.60s", path, line)
		}
		size, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatalf("%s: %s: %v", path, fields[0], err)
		}
		block, err := hex.DecodeString(strings.TrimPrefix(fields[3], "-"))
		if err != nil {
			t.Fatalf("%s: %s: %v", path, fields[0], err)
		}
		got, data := "refused", make([]byte, size)
		if judge(t, size, block) == valid {
			referenceDecode(data, block)
			sum := sha256.Sum256(data)
			got = hex.EncodeToString(sum[:])
			blocks++
		} else {
			refused++
		}
		if got != fields[2] {
			t.Errorf("%s: %s, the file has %s", fields[0], got, fields[2])
		}
	}
	if blocks < 12 || refused < 8 {
		t.Errorf("%s has %d blocks and %d that are refused", path, blocks, refused)
	}
}
