// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
)

// A trainSource holds the pages that a dictionary is trained on.
type trainSource interface {
	// Count is how many pages there are, empty ones included.
	Count() int64
	// Page returns page n, which the caller may keep, and nil for one that no codec gets to see: an
	// empty one, or one word repeated.
	Page(ctx context.Context, n int64) ([]byte, error)
	io.Closer
}
