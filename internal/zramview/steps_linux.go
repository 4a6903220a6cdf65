// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"errors"
	"os"
)

// steps keep the two processes of a namespace in step until the command is executed: the one inside
// says when a step is done, a byte each, and waits for the last one.
type steps struct{ done, next pipe }

// A pipe has an end here and one in the process inside.
type pipe struct{ ours, theirs *os.File }

func newSteps() (*steps, error) {
	doneRead, doneWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	nextRead, nextWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, doneRead.Close(), doneWrite.Close())
	}
	return &steps{pipe{doneRead, doneWrite}, pipe{nextWrite, nextRead}}, nil
}

// started closes the ends of the process inside, which has its own, so that its end is seen here.
func (s *steps) started() { _, _ = s.done.theirs.Close(), s.next.theirs.Close() } // single bytes, all read

// wait waits for a step and reports whether it was done; the process has ended otherwise.
func (s *steps) wait() bool {
	n, err := s.done.ours.Read(make([]byte, 1))
	return n == 1 && err == nil
}

// proceed lets the process inside execute the command.
func (s *steps) proceed() error {
	_, err := s.next.ours.Write([]byte{0})
	return err
}

// close closes what is open here.
func (s *steps) close() {
	s.started()                                     // a second time, after which files only give an error
	_, _ = s.done.ours.Close(), s.next.ours.Close() // single bytes, all read
}
