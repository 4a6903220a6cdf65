// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"
)

// verifyPatience bounds the wait for a verifier's answer; beyond it, the device that the verifier
// waits for counts as dead.
const verifyPatience = 40 * time.Second

// A verifying is a verifier as its test sees it, with the sum of its replies.
type verifying struct {
	cmd      *exec.Cmd
	commands io.WriteCloser
	answers  chan verifyReply
	stderr   bytes.Buffer
	sum      verifyReply
}

// verifying starts a verifier. It ends with the test at the latest.
func startVerifier(t testing.TB, order verifyOrder) *verifying {
	t.Helper()
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	v := &verifying{cmd: clientCommand(t.Context(), verifierPart, string(text)), answers: make(chan verifyReply)}
	v.cmd.Stderr = &v.stderr
	if v.commands, err = v.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(v.answers)
		for d := json.NewDecoder(out); ; {
			var r verifyReply
			if d.Decode(&r) != nil {
				return
			}
			v.answers <- r
		}
	}()
	t.Cleanup(func() {
		if v.cmd.ProcessState == nil {
			_ = v.cmd.Wait() // the end of the test has killed it
		}
	})
	return v
}

// ask gives a command, and fails the test for what was wrong until then.
func (v *verifying) ask(t testing.TB, command string) verifyReply {
	t.Helper()
	if _, err := fmt.Fprintln(v.commands, command); err != nil {
		t.Fatalf("verifier: %v: %s", err, v.stderr.Bytes())
	}
	select {
	case r, ok := <-v.answers:
		if !ok {
			t.Fatalf("the verifier has ended: %v: %s", v.cmd.Wait(), v.stderr.Bytes())
		}
		for _, wrong := range r.Wrong {
			t.Error(wrong)
		}
		v.sum.Requests += r.Requests
		v.sum.Longest = max(v.sum.Longest, r.Longest)
		v.sum.Counts[0] += r.Counts[0]
		v.sum.Counts[1] += r.Counts[1]
		return r
	case <-time.After(verifyPatience):
		t.Fatalf("the verifier does not answer: a request hangs")
	}
	panic("not reached")
}

// end has everything read once more, ends the verifier and returns the sums.
func (v *verifying) end(t testing.TB) verifyReply {
	t.Helper()
	v.ask(t, verifyEnd)
	if err := v.commands.Close(); err != nil {
		t.Error(err)
	}
	for range v.answers {
	}
	if err := v.cmd.Wait(); err != nil {
		t.Errorf("verifier: %v: %s", err, v.stderr.Bytes())
	}
	return v.sum
}
