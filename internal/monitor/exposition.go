// SPDX-License-Identifier: Apache-2.0

// This file writes the figures of devices in Prometheus' text format, with the client library of
// that project, which no other package uses. A scrape is one look at all devices.

package monitor

import (
	"bytes"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// ContentType is the media type of what Write writes.
const ContentType = string("text/plain; version=" + expfmt.TextVersion + "; charset=utf-8")

// A collector gives the library the samples of one look. It is immutable.
type collector struct {
	descs   map[string]*prometheus.Desc
	samples []MetricSample
}

func newCollector(samples []MetricSample) collector {
	c := collector{make(map[string]*prometheus.Desc), samples}
	for _, m := range Metrics {
		c.descs[m.Name] = prometheus.NewDesc(m.Name, m.Help+".", m.AllLabels(), nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	for _, s := range c.samples {
		m, err := c.metric(s)
		if err != nil {
			m = prometheus.NewInvalidMetric(c.descs[s.Name], err)
		}
		out <- m
	}
}

func (c collector) metric(s MetricSample) (prometheus.Metric, error) {
	desc := c.descs[s.Name]
	described, _ := Find(s.Name)
	switch described.Kind {
	case Histogram:
		buckets := make(map[float64]uint64, len(s.Buckets))
		for i, n := range s.Buckets {
			buckets[Bounds[i]] = n
		}
		return prometheus.NewConstHistogram(desc, s.Count, s.Value, buckets, s.Labels...)
	case Counter:
		return prometheus.NewConstMetric(desc, prometheus.CounterValue, s.Value, s.Labels...)
	default:
		return prometheus.NewConstMetric(desc, prometheus.GaugeValue, s.Value, s.Labels...)
	}
}

// Text returns the exposition of a look. An error means that samples contradict the list of
// metrics.
func Text(samples []MetricSample) ([]byte, error) {
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(newCollector(samples)); err != nil {
		return nil, fmt.Errorf("describe the metrics: %w", err)
	}
	families, err := registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("collect the metrics: %w", err)
	}
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			return nil, fmt.Errorf("write the metrics: %w", err)
		}
	}
	return text.Bytes(), nil
}

// Write writes the exposition of a look.
func Write(w io.Writer, l Look, b Build) error {
	text, err := Text(Of(l, b))
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
