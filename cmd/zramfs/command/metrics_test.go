// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/figures"
)

// The JSON of metrics has each sample with the names of its labels, and the buckets of histograms.
func TestMetricsJSON(t *testing.T) {
	buckets := make([]uint64, len(figures.Bounds))
	for i := range buckets {
		buckets[i] = uint64(i)
	}
	var out bytes.Buffer
	err := printJSON(&out, map[string][]metricValue{"metrics": metricValues([]figures.Sample{
		{Name: figures.Up, Labels: []string{"/run/zram"}, Value: 1},
		{Name: figures.Pages, Labels: []string{"/run/zram", "lz4"}, Value: 1 << 40},
		{Name: figures.OperationTime, Labels: []string{"/run/zram", "read"}, Value: 0.5, Buckets: buckets, Count: 20},
		{Name: figures.LookTime, Value: 0.25},
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
	for i, bound := range figures.Bounds {
		pairs[i] = [2]float64{bound, float64(i)}
	}
	want := []metricValue{
		{Name: figures.Up, Kind: figures.Gauge, Labels: map[string]string{"device": "/run/zram"}, Value: 1},
		{Name: figures.Pages, Kind: figures.Gauge, Labels: map[string]string{"device": "/run/zram", "codec": "lz4"}, Value: 1 << 40},
		{Name: figures.OperationTime, Kind: figures.Histogram, Labels: map[string]string{"device": "/run/zram", "op": "read"}, Value: 0.5,
			Count: 20, Buckets: pairs},
		{Name: figures.LookTime, Kind: figures.Gauge, Labels: map[string]string{}, Value: 0.25},
	}
	if !reflect.DeepEqual(got.Metrics, want) {
		t.Errorf("%+v", got.Metrics)
	}
}
