// SPDX-License-Identifier: Apache-2.0

package main

// An example is a rendering of the chart that is committed.
type example struct {
	file   string // relative to the root of the tree
	about  string
	values map[string]any
}

type object = map[string]any

var examples = []example{
	{"dist/kubernetes/zramfs.yaml", "zramfs on every node but control planes: kubectl apply --server-side -f zramfs.yaml",
		object{"namespace": object{"create": true}}},
	{"tools/conform/testdata/everything.yaml", "The chart with every option, for tests.", everything},
	{"tools/conform/testdata/small.yaml", "The chart for a small device that goes when its DaemonSet does, for tests.",
		object{"namespace": object{"create": true}, "device": object{"size": "128M", "algorithm": "lz4", "extraArgs": []any{"--devices", "1"}},
			"onDelete": "swapoff", "startupTaint": object{"enabled": true},
			"metrics": object{"enabled": true, "port": 19633, "tokenSecret": object{"name": "zramfs-token"}}}},
	{"tools/conform/testdata/agent.yaml", "The chart without RBAC but for its agent, for tests.",
		object{"limitedSwap": object{"enabled": true}, "serviceAccount": object{"create": false, "name": "own"}, "resources": object{"requests": object{"memory": "1Gi"}}}},
}

// everything turns each option of the chart on.
var everything = object{
	"namespace":           object{"create": true},
	"image":               object{"registry": "registry.example", "digest": "sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
	"imagePullSecrets":    []any{object{"name": "pull"}},
	"device":              object{"size": "8G", "memLimit": "1536M", "algorithm": "zstd(level=1)", "tune": "recommended", "extraArgs": []any{"--slots", "free"}},
	"onDelete":            "swapoff",
	"startupTaint":        object{"enabled": true},
	"limitedSwap":         object{"enabled": true, "restore": true},
	"metrics":             object{"enabled": true, "tokenSecret": object{"name": "zramfs-token"}, "podMonitor": object{"enabled": true, "labels": object{"release": "prometheus"}}, "rules": object{"enabled": true, "labels": object{"release": "prometheus"}}},
	"nodeProblemDetector": object{"enabled": true},
	"criticalPodsQuota":   true,
	"podAnnotations":      object{"example.org/a": "b"},
	"podLabels":           object{"example.org/c": "d"},
	"extraEnv":            []any{object{"name": "ZRAMFS_DISABLE", "value": "avx512"}},
	"serviceAccount":      object{"annotations": object{"example.org/e": "f"}},
	"networkPolicy":       object{"enabled": true},
	"extraManifests":      []any{object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "{{ .Release.Name }}-extra"}, "data": object{"a": "b"}}},
}
