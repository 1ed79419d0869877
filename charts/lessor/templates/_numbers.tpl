{{/* Amounts of memory as the worker reads them, in bytes. The schema lets no other form and no size pass that would not fit. */}}
{{- define "lessor.bytes" -}}
{{- $size := 1 }}
{{- $units := list (list "Ti" 1099511627776) (list "Gi" 1073741824) (list "Mi" 1048576) (list "Ki" 1024) (list "T" 1000000000000) (list "G" 1000000000) (list "M" 1000000) (list "k" 1000) }}
{{- $digits := . }}
{{- range $units }}
{{- if and (eq $size 1) (hasSuffix (first .) $digits) }}
{{- $digits = trimSuffix (first .) $digits }}
{{- $size = last . }}
{{- end }}
{{- end }}
{{- mul (int64 $digits) (int64 $size) }}
{{- end }}

{{/* Durations of whole hours, minutes and seconds, in seconds. */}}
{{- define "lessor.seconds" -}}
{{- $hours := regexFind "[0-9]+h" . | trimSuffix "h" | default "0" }}
{{- $minutes := regexFind "[0-9]+m" . | trimSuffix "m" | default "0" }}
{{- $seconds := regexFind "[0-9]+s" . | trimSuffix "s" | default "0" }}
{{- add (mul (int64 $hours) 3600) (mul (int64 $minutes) 60) (int64 $seconds) }}
{{- end }}

{{/*
The memory that slots are computed from. The kernel rounds a limit down to whole
pages, and that is what the worker sees of it.
*/}}
{{- define "lessor.memory" -}}
{{- if .Values.capacity.memoryLimit }}
{{- include "lessor.bytes" .Values.capacity.memoryLimit }}
{{- else }}
{{- $limit := include "lessor.bytes" .Values.resources.limits.memory | int64 }}
{{- sub $limit (mod $limit 4096) }}
{{- end }}
{{- end }}

{{/* Operations that a pod runs at once: the same as pkg/capacity.Slots, 0 if there is no room for one. */}}
{{- define "lessor.slots" -}}
{{- $left := sub (include "lessor.memory" . | int64) (include "lessor.bytes" .Values.capacity.memoryReserve | int64) }}
{{- max 0 (min (div $left (include "lessor.bytes" .Values.operations.memory | int64)) (int64 .Values.operations.maxSlots)) }}
{{- end }}

{{- define "lessor.grace" -}}
{{- add (include "lessor.seconds" .Values.drain.timeout | int64) (include "lessor.seconds" .Values.operations.interruptGrace | int64) (include "lessor.seconds" .Values.drain.margin | int64) }}
{{- end }}

{{/* Numbers that come from a file are floating, and large ones would be written with an exponent. */}}
{{- define "lessor.whole" -}}
{{- int64 . }}
{{- end }}
