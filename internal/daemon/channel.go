// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
)

// The descriptors that a worker is started with, after the standard ones.
const (
	orderFD      = 3 + iota // orders of the keeper, JSON
	newsFD                  // workerMsg of the worker, JSON
	attributesFD            // of fusefs.Files, as the next two
	dataFD
	requestsFD
	imageFD
	locksFD // where the keeper serves locks of the image
)

// channelVersion is the number of what keeper and worker exchange: arguments, descriptors,
// variables and messages. A keeper takes no worker that has another number.
const channelVersion = 1

// workerMsg is a message of a worker to its keeper. One field is set.
type workerMsg struct {
	// Prepared: it can open the image, and waits for the order to serve. The value is its
	// channelVersion.
	Prepared int `json:"prepared,omitempty"`
	// Serving: it answers requests.
	Serving bool `json:"serving,omitempty"`
	// Ready: it also has all its protections.
	Ready *workerReport `json:"ready,omitempty"`
	// Failed: it ends, for this reason.
	Failed *status.StartError `json:"failed,omitempty"`
	// Noted: control/loops was written.
	Noted bool `json:"noted,omitempty"`
	// Resize: the device is to be made anew with that size in bytes, 0 for none, and empty. The
	// request for it has the number ResizeRequest.
	Resize        *uint64 `json:"resize,omitempty"`
	ResizeRequest uint64  `json:"resize_request,omitempty"`
	// Hot: control/hot_add was read, or control/hot_remove or block/zram0/backing_dev written.
	Hot *hotRequest `json:"hot,omitempty"`
	// AttributesEnded: the attributes are unmounted or their connection is aborted.
	AttributesEnded bool `json:"attributes_ended,omitempty"`
	// DataEnded: the data file is unmounted or its connection is aborted.
	DataEnded bool `json:"data_ended,omitempty"`
}

// workerReport describes a worker that serves.
type workerReport struct {
	Protections []status.Protection `json:"protections"`
}

// keeperMsg is a message of a keeper to its worker. One field is set, and Further may be set with
// it.
type keeperMsg struct {
	// Serve: now.
	Serve *keeperFacts `json:"serve,omitempty"`
	// Heir: serve once the process Follows has ended, should the keeper die before it says so.
	Standby *keeperFacts `json:"heir,omitempty"`
	Follows int          `json:"follows,omitempty"`
	// Stop: end after the requests under way, for another worker.
	Stop bool `json:"stop,omitempty"`
	// Refused: the device is not made anew.
	Refused bool `json:"refused,omitempty"`
	// Hot: the answer to news.Hot.
	Hot *hotAnswer `json:"hot,omitempty"`
	// Further: the extra devices of the directory, whenever they have changed.
	ExtraDevices *fusefs.ExtraDevices `json:"further,omitempty"`
}

// keeperFacts are the part of control/status that only the keeper knows.
type keeperFacts struct {
	PID int `json:"pid"`
	// Ready is how long the machine had run when the device could be opened first; 0 is now.
	Ready       time.Duration       `json:"ready"`
	Protections []status.Protection `json:"protections"`
	restarts
	// CPU is the processor time of all workers that have ended.
	CPU time.Duration `json:"cpu,omitempty"`
	// Group is the outcome for the control group of both processes.
	Group protect.CgroupMove `json:"group,omitzero"`
	// Locks: the keeper locks each piece of the image that the worker names on locksFD.
	Locks bool `json:"holds,omitempty"`
	// ExtraDevices are the extra devices of the directory.
	Further fusefs.ExtraDevices `json:"further,omitempty"`
	// Backing is the path of the backing device; empty for none.
	Backing string `json:"backing,omitempty"`
	// Create: the image is new.
	Create bool `json:"create,omitempty"`
	// Image is the number of the image, see fusefs.Config.Image.
	Image uint64 `json:"image,omitempty"`
}

// workerMsgWriter sends news, from any goroutine.
type workerMsgWriter struct {
	mu sync.Mutex
	to *json.Encoder // guarded by mu
}

func newNewsWriter(w io.Writer) *workerMsgWriter { return &workerMsgWriter{to: json.NewEncoder(w)} }

// send tells the keeper. It ignores that the keeper is gone: the end of the orders says so too.
func (w *workerMsgWriter) send(n workerMsg) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.to.Encode(n)
}

// errSilent means that the other side has closed the channel.
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
