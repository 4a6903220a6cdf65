#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tools/get-kubernetes.sh DIR: compiles kube-apiserver of the version of the committed schemas into
# DIR, from where go finds modules. Modules of Kubernetes are replaced by those of its release, which
# go install does not do.
set -euo pipefail
dir=$(mkdir -p "$1" && cd "$1" && pwd)
version=$(sed -n 's/^const kubernetesVersion = "\(.*\)"$/\1/p' "$(dirname "$0")/charttest/render.go")
programs=(kube-apiserver)
if [ "$(cat "$dir/version" 2>/dev/null)" = "$version" ]; then exit; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mod=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\s*"GoMod": "\(.*\)",$/\1/p')
{
	printf 'module kubernetes\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$version"
	sed -n "s|^\s*\(k8s.io/[^ ]*\) v0.0.0\$|\t\1 => \1 v0${version#v1}|p" "$mod"
	printf ')\n'
} >go.mod
{
	printf '//go:build programs\n\npackage programs\n\nimport (\n'
	printf '\t_ "k8s.io/kubernetes/cmd/%s"\n' "${programs[@]}"
	printf ')\n'
} >programs.go
go mod tidy
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/" "${programs[@]/#/k8s.io/kubernetes/cmd/}"
echo "$version" >"$dir/version"
