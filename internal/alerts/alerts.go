// SPDX-License-Identifier: Apache-2.0

// Package alerts has what others need to watch devices by the metrics of package figures: alert
// rules for Prometheus and a dashboard for Grafana.
package alerts

import (
	_ "embed"
	"encoding/json"
)

// rules is the text of Rules.
//
//go:embed alerts.yml
var rules string

// Rules returns alert rules, as YAML for Prometheus.
func Rules() string { return rules }

// A panel is a chart of Grafana: a query for each line.
type panel struct {
	title, unit string
	queries     [][2]string // expression and legend
}

const perDevice = `{instance=~"$instance",device=~"$device"}`

// panels are the charts, three in a row.
var panels = []panel{
	{"Memory saved", "bytes", [][2]string{{"zramfs_saved_bytes" + perDevice, "{{device}}"}}},
	{"Stored and taken", "bytes", [][2]string{
		{"zramfs_data_bytes" + perDevice, "{{device}} stored"},
		{"zramfs_swap_zswap_bytes" + perDevice, "{{device}} in zswap"},
		{"zramfs_memory_used_bytes" + perDevice, "{{device}} taken"},
		{"zramfs_memory_bytes" + `{instance=~"$instance",device=~"$device",kind="zswap"}`, "{{device}} taken by zswap"},
		{"zramfs_memory_limit_bytes" + perDevice + " > 0", "{{device}} limit"}}},
	{"Compression ratio", "none", [][2]string{
		{"zramfs_data_bytes" + perDevice + " / zramfs_memory_used_bytes" + perDevice, "{{device}}"}}},
	{"Swap used", "percentunit", [][2]string{
		{"zramfs_swap_used_bytes" + perDevice + " / zramfs_swap_size_bytes" + perDevice, "{{device}}"}}},
	{"Throughput", "Bps", [][2]string{
		{`rate(zramfs_operation_bytes_total{instance=~"$instance",device=~"$device",op=~"read|write"}[$__rate_interval])`, "{{device}} {{op}}"},
		{`rate(zramfs_zswap_pages_total{instance=~"$instance"}[$__rate_interval]) * 4096`, "zswap {{op}}"}}},
	{"Latency in the device", "s", [][2]string{
		{quantile("0.5"), "{{device}} {{op}} p50"}, {quantile("0.99"), "{{device}} {{op}} p99"}}},
	{"Pages by format", "short", [][2]string{{"zramfs_pages" + perDevice, "{{device}} {{codec}}"}}},
	{"Memory by kind", "bytes", [][2]string{{"zramfs_memory_bytes" + perDevice, "{{device}} {{kind}}"}}},
	{"Errors, restarts, problems", "short", [][2]string{
		{"increase(zramfs_errors_total" + perDevice + "[$__rate_interval])", "{{device}} errors: {{kind}}"},
		{"increase(zramfs_worker_restarts_total" + perDevice + "[$__rate_interval])", "{{device}} restarts"},
		{"zramfs_problems" + perDevice, "{{device}} problems"}}},
}

func quantile(q string) string {
	return "histogram_quantile(" + q + ", sum by (instance, device, op, le) (rate(zramfs_operation_duration_seconds_bucket" +
		`{instance=~"$instance",device=~"$device",op=~"read|write"}[$__rate_interval])))`
}

// object is JSON of Grafana's dashboard model.
type object = map[string]any

// Grafana returns a dashboard to import into Grafana, as JSON. It asks for a data source.
func Grafana() (string, error) {
	source := object{"type": "prometheus", "uid": "${source}"}
	all := make([]object, len(panels))
	for i, p := range panels {
		targets := make([]object, len(p.queries))
		for j, q := range p.queries {
			targets[j] = object{"expr": q[0], "legendFormat": q[1], "refId": string(rune('A' + j)), "datasource": source}
		}
		all[i] = object{
			"id": i + 1, "type": "timeseries", "title": p.title, "datasource": source, "targets": targets,
			"gridPos":     object{"h": 8, "w": 8, "x": i % 3 * 8, "y": i / 3 * 8},
			"fieldConfig": object{"defaults": object{"unit": p.unit, "custom": object{"fillOpacity": 12}}, "overrides": []object{}},
			"options":     object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi"}},
		}
	}
	variable := func(name, label string) object {
		return object{"name": name, "type": "query", "datasource": source, "query": "label_values(zramfs_up, " + label + ")", "refresh": 2,
			"multi": true, "includeAll": true, "current": object{"text": "All", "value": "$__all"}}
	}
	text, err := json.MarshalIndent(object{
		"title": "zramfs", "uid": "zramfs", "tags": []string{"zramfs", "swap"}, "schemaVersion": 39, "refresh": "30s", "editable": true,
		"time": object{"from": "now-6h", "to": "now"}, "panels": all, "annotations": object{"list": []object{}},
		"templating": object{"list": []object{
			{"name": "source", "type": "datasource", "query": "prometheus"}, variable("instance", "instance"), variable("device", "device")}},
	}, "", "  ")
	return string(text) + "\n", err
}
