// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/zramfs/zramfs/cmd/zramfs/protect"
	"github.com/zramfs/zramfs/fusefs"
)

// The descriptors that a worker is started with, after the standard ones.
const (
	orderFD      = 3 + iota // orders of the keeper, JSON
	newsFD                  // news of the worker, JSON
	attributesFD            // what fusefs.Files has
	dataFD
	requestsFD
	imageFD
	holderFD // where the keeper holds the image
)

// news is what a worker tells its keeper. One field is set.
type news struct {
	// Prepared: it can read what lies in memory, and waits for the order to serve.
	Prepared bool `json:"prepared,omitempty"`
	// Serving: it answers requests.
	Serving bool `json:"serving,omitempty"`
	// Ready: it also has all its protections.
	Ready *workerReport `json:"ready,omitempty"`
	// Failed: it ends, for this reason.
	Failed *StartError `json:"failed,omitempty"`
	// Refused: it cannot stop, for this reason, and goes on.
	Refused string `json:"refused,omitempty"`
	// Noted: control/loops was written.
	Noted bool `json:"noted,omitempty"`
	// AttributesEnded: nobody can reach the attributes any more, which says nothing of the data file.
	AttributesEnded bool `json:"attributes_ended,omitempty"`
	// DataEnded: nobody can reach the data file any more.
	DataEnded bool `json:"data_ended,omitempty"`
}

// workerReport is what a worker says of itself once it serves.
type workerReport struct {
	Settings    fusefs.Settings      `json:"settings"`
	Protections []protect.Protection `json:"protections"`
}

// order is what a keeper tells its worker. One field is set.
type order struct {
	// Serve: now.
	Serve *keeperFacts `json:"serve,omitempty"`
	// Stop: end after the requests under way, a successor waits.
	Stop bool `json:"stop,omitempty"`
}

// keeperFacts are what a worker shows in control/status of things that it cannot know.
type keeperFacts struct {
	PID         int                  `json:"pid"`
	Ready       int64                `json:"ready"` // since when the device can be opened, nanoseconds of Unix time; 0 is now
	Protections []protect.Protection `json:"protections"`
	restarts
	// Group is what was done about the control group, which the worker is in too.
	Group protect.GroupMove `json:"group,omitzero"`
	// Holds: the keeper locks what the worker tells it of, on holderFD.
	Holds bool `json:"holds,omitempty"`
}

// newsWriter sends news, from any goroutine.
type newsWriter struct {
	mu sync.Mutex
	to *json.Encoder // guarded by mu
}

func newNewsWriter(w io.Writer) *newsWriter { return &newsWriter{to: json.NewEncoder(w)} }

// send tells the keeper. Should it be gone there is nobody to be told, which the end of the orders
// says too.
func (w *newsWriter) send(n news) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.to.Encode(n)
}

// errSilent: the other side has closed the channel.
var errSilent = errors.New("the channel between keeper and worker has ended")

// receive decodes messages until there are no more.
func receive[T any](from *os.File, tell func(T)) {
	for d := json.NewDecoder(from); ; {
		var m T
		if err := d.Decode(&m); err != nil {
			return
		}
		tell(m)
	}
}

// receiveOne waits for one message.
func receiveOne[T any](from <-chan T) (T, error) {
	m, ok := <-from
	if !ok {
		return m, fmt.Errorf("wait for an order: %w", errSilent)
	}
	return m, nil
}
