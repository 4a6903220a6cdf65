{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "zramfs.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "zramfs.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := include "zramfs.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "zramfs.selectorLabels" -}}
app.kubernetes.io/name: {{ include "zramfs.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "zramfs.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "zramfs.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: node
app.kubernetes.io/part-of: zramfs
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "zramfs.image" -}}
{{- $repository := .Values.image.repository }}
{{- if .Values.image.registry }}{{ $repository = printf "%s/%s" .Values.image.registry $repository }}{{ end }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- define "zramfs.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "zramfs.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Whether a pod asks the API server for anything: empty for no. */}}
{{- define "zramfs.asks" -}}
{{- if or (eq .Values.onDelete "swapoff") .Values.startupTaint.enabled .Values.limitedSwap.enabled }}yes{{ end }}
{{- end }}

{{/* 64 MiB and memLimit, where that is a number of bytes. */}}
{{- define "zramfs.memoryRequest" -}}
{{- $units := dict "" (divf 1.0 1048576.0) "K" 0.0009765625 "M" 1.0 "G" 1024.0 "T" 1048576.0 }}
{{- $limit := .Values.device.memLimit | toString }}
{{- if regexMatch "^[0-9]+[KMGT]?$" $limit }}
{{- $n := regexFind "^[0-9]+" $limit | float64 }}
{{- printf "%dMi" (add 64 (ceil (mulf $n (get $units (regexFind "[KMGT]?$" $limit))))) }}
{{- else -}}
64Mi
{{- end }}
{{- end }}

{{- define "zramfs.securityContext" -}}
# privileged: the program enters the namespaces of process 1, mounts FUSE, attaches loop devices and
# turns swap on, which takes CAP_SYS_ADMIN of the node and its devices.
privileged: true
readOnlyRootFilesystem: true
runAsUser: 0
runAsGroup: 0
{{- end }}
