// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"context"
	"flag"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/onhost"
)

// Serve replaces this process by zramfs serve of the node, with the network of the pod and a token
// in a file of the pod. It waits until the other container has installed the programs of the image:
// after a rollout those of the image before are there until then.
func Serve(ctx context.Context, args []string, out io.Writer) error {
	set := flag.NewFlagSet("serve", flag.ContinueOnError)
	set.SetOutput(out)
	token := set.String("token-file", "", "file of the pod with the token")
	listen := set.String("listen", ":9633", "address in the pod's network")
	if err := set.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	words := []string{"serve", "--listen", *listen}
	if *token != "" {
		// The program sees the files of the node, and this one by its descriptor.
		fd, err := syscall.Open(*token, syscall.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", *token, err)
		}
		words = append(words, "--token-file", fmt.Sprintf("/proc/self/fd/%d", fd))
	}
	names, err := ofImage()
	if err != nil {
		return err
	}
	for {
		there, err := onhost.Installed(programs, names...)
		if err != nil {
			return err
		}
		if there {
			return Zramfs(append(words, set.Args()...))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}
