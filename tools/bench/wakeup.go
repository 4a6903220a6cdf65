// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
)

// wakeUps is what waking a thread cost at the start of each round, in the shape of its JSON.
type wakeUps struct {
	// AsIs is of the machine as it was, Held with a request for CPUs that answer at once.
	AsIs []wakeUp `json:"as_is"`
	Held []wakeUp `json:"latency_request_held,omitempty"`
	// Refused says why no such request could be held.
	Refused string `json:"latency_request_refused,omitempty"`
}

// measure measures once more.
func (w *wakeUps) measure() error {
	asIs, err := wakeUpCost(false)
	if err != nil {
		return err
	}
	w.AsIs = append(w.AsIs, asIs)
	// Containers and other kernels lack the device. The run goes on without.
	held, err := wakeUpCost(true)
	if err != nil {
		w.Refused = err.Error()
		return nil
	}
	w.Held = append(w.Held, held)
	return nil
}

// render prints the medians over the rounds.
func (w *wakeUps) render(text *bytes.Buffer) {
	if len(w.AsIs) == 0 {
		return
	}
	fmt.Fprintf(text, "\nwake-up of a thread, pipe, us         ")
	fmt.Fprintf(text, "%*s%*s%*s%*s\n", pairWidth, "two CPUs p50", pairWidth, "p99", pairWidth, "one CPU p50", pairWidth, "p99")
	renderWakeUps(text, "  as the machine is", w.AsIs)
	if len(w.Held) == 0 {
		fmt.Fprintf(text, "  with a PM QoS request: %s\n", w.Refused)
		return
	}
	renderWakeUps(text, "  with a PM QoS request held", w.Held)
}

const pairWidth = 14

func renderWakeUps(text *bytes.Buffer, name string, rounds []wakeUp) {
	fmt.Fprintf(text, "%-*s", nameWidth+1, name)
	for _, get := range []func(wakeUp) float64{
		func(w wakeUp) float64 { return w.Between.P50 }, func(w wakeUp) float64 { return w.Between.P99 },
		func(w wakeUp) float64 { return w.Same.P50 }, func(w wakeUp) float64 { return w.Same.P99 },
	} {
		shown := verdictNone // where there is one CPU
		if value := medianOf(rounds, get); value > 0 {
			shown = digits(value)
		}
		fmt.Fprintf(text, "%*s", pairWidth, shown)
	}
	text.WriteByte('\n')
}
