// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// Namespace and release of everything that is rendered here.
const (
	namespace = "zramfs-system"
	release   = "zramfs"
)

// kubernetesVersion is the one that charts are rendered for, and that of the committed schemas.
const kubernetesVersion = "v1.37.2"

// render renders the chart with values, as helm template does: one text for each object.
func render(c *chart.Chart, values map[string]any) ([]string, error) {
	version, err := chartutil.ParseKubeVersion(kubernetesVersion)
	if err != nil {
		return nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, options, capabilities) // against the schema too
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var objects []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		for text := range strings.SplitSeq("\n"+files[name], "\n---") {
			if text = strings.TrimSpace(text); text != "" {
				objects = append(objects, text+"\n")
			}
		}
	}
	slices.SortStableFunc(objects, func(a, b string) int { return rank(a) - rank(b) })
	return objects, nil
}

// rank puts an object after those that have to be there before it.
func rank(object string) int {
	for i, kind := range []string{"Namespace", "ResourceQuota", "ServiceAccount"} {
		if strings.Contains("\n"+object, "\nkind: "+kind+"\n") {
			return i
		}
	}
	return 3
}

// manifest renders the values of a case to one text, with the digest of the chart that it is from.
func manifest(c *chart.Chart, digest string, of example) (string, error) {
	objects, err := render(c, of.values)
	if err != nil {
		return "", fmt.Errorf("render %s: %w", of.file, err)
	}
	text := fmt.Sprintf("# SPDX-License-Identifier: Apache-2.0\n#\n# %s\n# Made by make charts from dist/helm/zramfs, whose files have the digest\n# %s\n", of.about, digest)
	for _, o := range objects {
		text += "---\n" + o
	}
	return text, nil
}
