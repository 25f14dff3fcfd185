{{/* The release's name where it says what this is, else with "-loadline" behind it. Room is left for suffixes. */}}
{{- define "loadline.name" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" (.Release.Name | trunc 41) .Chart.Name }}
{{- end -}}
{{- end -}}

{{- define "loadline.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "loadline.labels" -}}
{{ include "loadline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: loadline
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end -}}

{{- define "loadline.tlsSecret" -}}
{{ .Values.tls.existingSecret | default (printf "%s-tls" (include "loadline.name" .)) }}
{{- end -}}
