// SPDX-License-Identifier: Apache-2.0

// Command zramfsd serves a compressed swap device. zramfs starts it.
package main

import (
	"os"

	"github.com/zramfs/zramfs/internal/server"
)

// version is set by release builds: go build -ldflags "-X main.version=1.2.3".
var version string

func main() {
	os.Exit(server.Main(version, os.Args))
}
