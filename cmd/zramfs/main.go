// SPDX-License-Identifier: Apache-2.0

// Command zramfs provides compressed swap devices from FUSE and loop alone.
package main

import (
	"os"

	"github.com/zramfs/zramfs/internal/command"
)

// version is set by release builds: go build -ldflags "-X main.version=1.2.3".
var version string

func main() {
	os.Exit(command.Main(version, os.Args))
}
