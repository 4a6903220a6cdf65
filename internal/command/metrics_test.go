// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/zramfs/zramfs/internal/monitor"
)

// The JSON of metrics has each sample with the names of its labels, and the buckets of histograms.
func TestMetricsJSON(t *testing.T) {
	buckets := make([]uint64, len(monitor.Bounds))
	for i := range buckets {
		buckets[i] = uint64(i)
	}
	var out bytes.Buffer
	err := printJSON(&out, map[string][]metricValue{"metrics": metricValues([]monitor.MetricSample{
		{Name: monitor.Up, Labels: []string{"/run/zram"}, Value: 1},
		{Name: monitor.Pages, Labels: []string{"/run/zram", "lz4"}, Value: 1 << 40},
		{Name: monitor.OperationTime, Labels: []string{"/run/zram", "read"}, Value: 0.5, Buckets: buckets, Count: 20},
		{Name: monitor.LookTime, Value: 0.25},
	})})
	if err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !bytes.HasPrefix(out.Bytes(), []byte("{\n   \"schema\": 1,\n")) || !bytes.Contains(out.Bytes(), []byte(": 1099511627776\n")) {
		t.Errorf("%s", text)
	}
	var got struct{ Metrics []metricValue }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	pairs := make([][2]float64, len(buckets))
	for i, bound := range monitor.Bounds {
		pairs[i] = [2]float64{bound, float64(i)}
	}
	want := []metricValue{
		{Name: monitor.Up, Kind: monitor.Gauge, Labels: map[string]string{"device": "/run/zram"}, Value: 1},
		{Name: monitor.Pages, Kind: monitor.Gauge, Labels: map[string]string{"device": "/run/zram", "codec": "lz4"}, Value: 1 << 40},
		{Name: monitor.OperationTime, Kind: monitor.Histogram, Labels: map[string]string{"device": "/run/zram", "op": "read"}, Value: 0.5,
			Count: 20, Buckets: pairs},
		{Name: monitor.LookTime, Kind: monitor.Gauge, Labels: map[string]string{}, Value: 0.25},
	}
	if !reflect.DeepEqual(got.Metrics, want) {
		t.Errorf("%+v", got.Metrics)
	}
}
