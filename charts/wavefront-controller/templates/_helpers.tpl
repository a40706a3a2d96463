{{/* The labels of every object, as YAML. */}}
{{- define "wavefront-controller.labels" -}}
app.kubernetes.io/name: wavefront-controller
app.kubernetes.io/part-of: wavefront-controller
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The image, by digest where there is one. */}}
{{- define "wavefront-controller.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
{{- end -}}

{{/* The feature gates as one argument's value, or nothing. */}}
{{- define "wavefront-controller.featureGates" -}}
{{- $gates := deepCopy .Values.featureGates -}}
{{- if .Values.fluxApp.enabled -}}{{- $_ := set $gates "FluxApp" true -}}{{- end -}}
{{- $pairs := list -}}
{{- range $name, $on := $gates -}}{{- $pairs = append $pairs (printf "%s=%t" $name $on) -}}{{- end -}}
{{- join "," $pairs -}}
{{- end -}}

{{/*
The objects of a file that was built from an overlay, moved to the namespace of the
release and labelled as part of it. Takes a dict of root, file, and optionally
annotations for every object.
*/}}
{{- define "wavefront-controller.objects" -}}
{{- $root := .root -}}
{{- $annotations := .annotations | default dict -}}
{{- range $document := splitList "\n---\n" ($root.Files.Get .file) -}}
{{- $object := fromYaml $document -}}
{{- $labels := mergeOverwrite (deepCopy ($object.metadata.labels | default dict)) (include "wavefront-controller.labels" $root | fromYaml) -}}
{{- $_ := set $object.metadata "labels" $labels -}}
{{- $merged := merge (deepCopy $annotations) ($object.metadata.annotations | default dict) -}}
{{- if eq $object.kind "ServiceAccount" -}}
{{- $merged = merge $merged $root.Values.serviceAccount.annotations -}}
{{- end -}}
{{- if $merged -}}{{- $_ := set $object.metadata "annotations" $merged -}}{{- end -}}
{{- if $object.metadata.namespace -}}{{- $_ := set $object.metadata "namespace" $root.Release.Namespace -}}{{- end -}}
{{- range $object.subjects -}}{{- $_ := set . "namespace" $root.Release.Namespace -}}{{- end }}
---
{{ toYaml $object }}
{{- end -}}
{{- end -}}
