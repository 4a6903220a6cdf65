// SPDX-License-Identifier: Apache-2.0

package status

import "github.com/zramfs/zramfs/codec"

// ReadInstructions returns the instruction sets of this process and the codecs' choice among them.
// All of it is known since the program started.
func ReadInstructions() Instructions {
	sets := codec.InstructionSets()
	s := Instructions{Detected: sets.Detected, Usable: sets.Usable, Codecs: []Implementation{}}
	for _, a := range codec.Comparable() {
		if v := a.Variants()[0]; v.Set != "" {
			s.Codecs = append(s.Codecs, Implementation{Name: v.Name, Set: v.Set})
		}
	}
	return s
}
