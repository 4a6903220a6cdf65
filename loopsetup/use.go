// SPDX-License-Identifier: Apache-2.0

package loopsetup

// Keep is [Device.Keep] for the loop device dev. After Detach of a device in use it takes that
// back. The errors are those of Detach.
func Keep(dev string) error {
	n, err := loopNumber(dev)
	if err != nil {
		return newError(OpKeep, dev, err)
	}
	return newError(OpKeep, dev, keepNumber(n))
}

// Claimed reports whether the loop device dev has a user that shares it with no other: it is an
// active swap area, mounted, below another block device, or open in a program such as mkfs(8). It
// needs the right to open dev, and is false for a device without a file.
func Claimed(dev string) (bool, error) {
	n, err := loopNumber(dev)
	if err != nil {
		return false, newError(OpClaimed, dev, err)
	}
	claimed, err := isClaimed(n)
	return claimed, newError(OpClaimed, dev, err)
}
