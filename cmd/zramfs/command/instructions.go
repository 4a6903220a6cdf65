// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
)

// checkInstructions says which instruction sets the codecs may use, and warns of disabled ones.
func checkInstructions(m machine) (finding, error) {
	s := m.instructions()
	usable := "the codecs may use " + strings.Join(s.Usable, ", ")
	if off := switchedOff(s.Detected, s.Usable); len(off) > 0 {
		return warn(usable+"; ZRAMFS_DISABLE switches off "+strings.Join(off, ", "), "unset ZRAMFS_DISABLE")
	}
	return ok("%s", usable)
}

// checkCodecs says which implementation each codec uses.
func checkCodecs(m machine) (finding, error) {
	return ok("%s", implementationWords(m.instructions()))
}

// implementationWords lists the implementations of codecs that have several.
func implementationWords(s daemon.InstructionStatus) string {
	words := make([]string, len(s.Codecs))
	for i, c := range s.Codecs {
		words[i] = c.Name + " by " + c.Set
	}
	return strings.Join(words, ", ")
}

// instructionWords is the line of status with the codecs' implementations. Older servers do not
// report them.
func instructionWords(s daemon.InstructionStatus) string {
	if len(s.Usable) == 0 {
		return ""
	}
	text := strings.Join(s.Usable, ", ")
	if off := switchedOff(s.Detected, s.Usable); len(off) > 0 {
		text += "; switched off by ZRAMFS_DISABLE: " + strings.Join(off, ", ")
	}
	if codecs := implementationWords(s); codecs != "" {
		text += "; " + codecs
	}
	return text
}

// switchedOff returns the detected instruction sets that are disabled.
func switchedOff(detected, usable []string) []string {
	return slices.DeleteFunc(slices.Clone(detected), func(set string) bool { return slices.Contains(usable, set) })
}
