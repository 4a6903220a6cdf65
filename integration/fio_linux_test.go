// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"
)

// fioTimeout bounds one run of fio, which writes and verifies tens of megabytes.
const fioTimeout = 60 * time.Second

// verify lets fio write size bytes of a file or device with these options, in
// two jobs with a half each, and read everything back against checksums.
func verify(t testing.TB, file, size string, options ...string) {
	t.Helper()
	args := append([]string{
		"--name=verify", "--filename=" + file, "--size=50%", "--filesize=" + size,
		"--numjobs=2", "--offset_increment=50%", "--allow_file_create=0", "--thread",
		"--verify=crc32c", "--do_verify=1", "--verify_fatal=1", "--verify_state_save=0",
		"--buffer_compress_percentage=50", "--refill_buffers=1", "--randseed=7",
	}, options...)
	system(t, fioTimeout, "fio", args...)
}
