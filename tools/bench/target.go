// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// A target is the goal of a measure, as a ratio to kernel zram. All fields are immutable; 0 means
// no target.
type target struct {
	// quantity says what the ratio is of.
	quantity string
	// less means that a lower ratio is better, as of times.
	less  bool
	reach float64
	// stretch is what would be better still.
	stretch float64
}

// The words for how a ratio stands to its target.
const (
	verdictStretch = "stretch"
	verdictReached = "reached"
	verdictMissed  = "missed"
	verdictNone    = "-"
)

// verdict says which target a ratio meets; 0 stands for a ratio that is not known.
func (t target) verdict(ratio float64) string {
	switch {
	case ratio == 0: // it is not known
		return verdictNone
	case t.stretch > 0 && t.meets(ratio, t.stretch):
		return verdictStretch
	case t.reach == 0:
		return verdictNone
	case t.meets(ratio, t.reach):
		return verdictReached
	}
	return verdictMissed
}

func (t target) meets(ratio, goal float64) bool {
	if t.less {
		return ratio <= goal
	}
	return ratio >= goal
}

// bound writes a goal as a condition, as in ">= 1.5".
func (t target) bound(goal float64) string {
	switch {
	case goal == 0:
		return verdictNone
	case t.less:
		return fmt.Sprintf("<= %g", goal)
	}
	return fmt.Sprintf(">= %g", goal)
}

// A standing is how one contestant stands to one target, in the shape of its JSON.
type standing struct {
	Measure  string  `json:"measure"`
	Quantity string  `json:"quantity"`
	Device   string  `json:"device"`
	Ratio    float64 `json:"ratio_to_zram"`
	Reach    float64 `json:"to_reach,omitempty"`
	Stretch  float64 `json:"stretch,omitempty"`
	Verdict  string  `json:"verdict"`

	target target
}

func (t target) stand(measure, device string, ratio float64) standing {
	return standing{
		Measure: measure, Quantity: t.quantity, Device: device, Ratio: ratio,
		Reach: t.reach, Stretch: t.stretch, Verdict: t.verdict(ratio), target: t,
	}
}
