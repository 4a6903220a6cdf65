// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

// refuseUp returns the reason why DIR of d can take no device: a device there is in another mount
// namespace, dead or silent.
func refuseUp(d device) error {
	switch {
	case errors.Is(d.Err, errDead) && len(d.Swaps) > 0:
		p := diagnoseDead(d)
		return fmt.Errorf("%s: %s: %s", d.title(), p.What, p.Fix)
	case d.away:
		p := diagnoseAway(d)
		return fmt.Errorf("%s: %s; %s", d.title(), p.What, p.Fix)
	}
	return nil
}

// diagnoseDead says what a device without a serving process has lost.
func diagnoseDead(d device) problem {
	p := problem{What: errDead.Error(), Fix: "zramfs down --force " + d.title()}
	if len(d.Swaps) > 0 {
		p.What = fmt.Sprintf("%s is still swap and no process serves it: %s are lost", d.swapPaths(), term.Size(d.used()))
	}
	return p
}

// diagnoseAway says where a device with an unseen mount is.
func diagnoseAway(d device) problem {
	var words []string
	if d.keeper != 0 {
		words = append(words, fmt.Sprintf("keeper %d", d.keeper))
	}
	if len(d.Loops) > 0 {
		words = append(words, areaNames(loopPaths(d.Loops)))
	}
	if len(d.Swaps) > 0 {
		words = append(words, term.Size(d.used())+" in swap")
	}
	return problem{
		What: "a device is up in another mount namespace (" + strings.Join(words, ", ") + ")",
		Fix:  "zramfs down " + d.title() + " ends it",
	}
}

// swapPaths lists the loop devices in use as swap.
func (d device) swapPaths() string {
	paths := make([]string, len(d.Swaps))
	for i, s := range d.Swaps {
		paths[i] = s.Path
	}
	return areaNames(paths)
}
