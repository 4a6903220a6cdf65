// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
)

// A trainSource holds the pages to train a dictionary on.
type trainSource interface {
	// Count returns the number of pages, empty ones included.
	Count() int64
	// Page returns page n, which the caller may keep, or nil for a page that no codec gets: an
	// empty one, or one repeated word.
	Page(ctx context.Context, n int64) ([]byte, error)
	io.Closer
}
