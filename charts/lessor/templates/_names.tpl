{{/* Names and labels. A name has 63 characters at most, as DNS wants it. */}}
{{- define "lessor.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "lessor.fullname" -}}
{{- $name := include "lessor.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* The full name with something behind it, of which nothing is cut off. */}}
{{- define "lessor.named" -}}
{{- $room := sub 62 (len .suffix) | int }}
{{- printf "%s-%s" (include "lessor.fullname" .root | trunc $room | trimSuffix "-") .suffix }}
{{- end }}

{{- define "lessor.selector" -}}
app.kubernetes.io/name: {{ include "lessor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: worker
{{- end }}

{{- define "lessor.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "lessor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "lessor.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "lessor.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "lessor.catalogName" -}}
{{- default (include "lessor.named" (dict "root" . "suffix" "catalog")) .Values.catalog.existingConfigMap }}
{{- end }}

{{- define "lessor.authenticationName" -}}
{{- default (include "lessor.fullname" .) .Values.scaling.keda.authentication.name }}
{{- end }}

{{- define "lessor.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}
