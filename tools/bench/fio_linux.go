// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fioOutput is the part of fio's JSON that is used. Every job group is one element
// of Jobs.
type fioOutput struct {
	Jobs []struct {
		Error int `json:"error"`
		Read  struct {
			Bandwidth float64 `json:"bw_bytes"`
			IOPS      float64 `json:"iops"`
			Latency   struct {
				Percentile map[string]float64 `json:"percentile"`
			} `json:"lat_ns"`
		} `json:"read"`
	} `json:"jobs"`
}

var errFioOutput = errors.New("unexpected output of fio")

// readLoad runs a reading workload on a device by fio for duration and returns its
// figures.
func readLoad(ctx context.Context, path string, size int64, work workload, duration time.Duration) (figure, error) {
	cmd := exec.CommandContext(ctx, "fio", fioArgs(path, size, work, duration)...)
	// A group of its own, so that an interrupt typed at the terminal reaches fio
	// through us alone; and the kernel ends it should we be killed. The latter
	// watches the thread that starts fio, so that thread has to stay.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return figure{}, ctx.Err()
		}
		return figure{}, fmt.Errorf("run fio: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return parseFio(stdout.String())
}

func fioArgs(path string, size int64, work workload, duration time.Duration) []string {
	args := []string{
		"--name=read", "--filename=" + path, "--readonly", "--direct=1", "--thread",
		"--size=" + strconv.FormatInt(size, 10),
		"--bs=" + strconv.Itoa(work.block),
		"--numjobs=" + strconv.Itoa(work.jobs), "--group_reporting",
		"--time_based", fmt.Sprintf("--runtime=%dms", duration.Milliseconds()),
		"--norandommap", "--randrepeat=0",
		"--lat_percentiles=1", "--percentile_list=50:99", "--output-format=json",
	}
	if work.random {
		args = append(args, "--rw=randread")
	} else {
		args = append(args, "--rw=read")
	}
	if work.depth == 0 {
		return append(args, "--ioengine=psync")
	}
	return append(args, "--ioengine=libaio", "--iodepth="+strconv.Itoa(work.depth))
}

func parseFio(text string) (figure, error) {
	// Warnings may stand before the JSON.
	start := strings.Index(text, "{")
	if start < 0 {
		return figure{}, fmt.Errorf("%w: no JSON in %q", errFioOutput, text)
	}
	var output fioOutput
	if err := json.NewDecoder(strings.NewReader(text[start:])).Decode(&output); err != nil {
		return figure{}, fmt.Errorf("%w: %w", errFioOutput, err)
	}
	if len(output.Jobs) != 1 {
		return figure{}, fmt.Errorf("%w: %d job groups", errFioOutput, len(output.Jobs))
	}
	job := output.Jobs[0]
	if job.Error != 0 {
		return figure{}, fmt.Errorf("run fio: %w", syscall.Errno(job.Error))
	}
	p50, ok50 := job.Read.Latency.Percentile["50.000000"]
	p99, ok99 := job.Read.Latency.Percentile["99.000000"]
	if !ok50 || !ok99 || job.Read.IOPS <= 0 {
		return figure{}, fmt.Errorf("%w: no latency percentiles or no reads", errFioOutput)
	}
	return figure{Bytes: job.Read.Bandwidth, Requests: job.Read.IOPS, P50: p50 / 1e3, P99: p99 / 1e3}, nil
}
