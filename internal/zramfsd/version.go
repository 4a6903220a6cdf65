// SPDX-License-Identifier: Apache-2.0

package zramfsd

import "runtime/debug"

// Version returns the version of the running program: that of a release, else that of its module,
// else "devel".
func Version(release string) string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
