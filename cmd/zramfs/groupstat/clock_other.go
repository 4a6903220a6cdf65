// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package groupstat

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
