{{/* The environment that the values make, as a list. What is empty is left to the worker, or to the image. */}}
{{- define "lessor.environment" -}}
{{- $v := .Values }}
- {name: LESSOR_QUEUE_URL, value: {{ $v.queue.url | quote }}}
- {name: LESSOR_DEAD_LETTER_QUEUE_URL, value: {{ $v.queue.deadLetterUrl | quote }}}
- {name: LESSOR_VISIBILITY_TIMEOUT, value: {{ $v.queue.visibilityTimeout | quote }}}
- {name: LESSOR_POLL_WAIT, value: {{ $v.queue.pollWait | quote }}}
- {name: LESSOR_TABLE, value: {{ $v.registry.table | quote }}}
- {name: LESSOR_STATE_BUCKETS, value: {{ join "," $v.state.buckets | quote }}}
- {name: LESSOR_SECRETS_PROVIDER, value: {{ $v.state.secretsProvider | quote }}}
- {name: LESSOR_PROJECT, value: {{ $v.state.project | quote }}}
- {name: LESSOR_CATALOG, value: {{ printf "/etc/lessor/%s" $v.catalog.key | quote }}}
{{- with $v.results.target }}
- {name: LESSOR_RESULT_TARGET, value: {{ . | quote }}}
{{- end }}
{{- with $v.tenants.regions }}
- {name: LESSOR_REGIONS, value: {{ join "," . | quote }}}
{{- end }}
- {name: LESSOR_EVENT_ORDER, value: {{ $v.tenants.eventOrder | quote }}}
- {name: LESSOR_LEASE_DURATION, value: {{ $v.lease.duration | quote }}}
- {name: LESSOR_LEASE_MARGIN, value: {{ $v.lease.margin | quote }}}
- {name: LESSOR_BACKOFF_MIN, value: {{ $v.backoff.min | quote }}}
- {name: LESSOR_BACKOFF_MAX, value: {{ $v.backoff.max | quote }}}
- {name: LESSOR_BREAKER_TENANTS, value: {{ include "lessor.whole" $v.breaker.tenants | quote }}}
- {name: LESSOR_BREAKER_PAUSE, value: {{ $v.breaker.pause | quote }}}
- {name: LESSOR_SWEEP_INTERVAL, value: {{ $v.sweep.interval | quote }}}
- {name: LESSOR_SWEEP_AGE, value: {{ $v.sweep.age | quote }}}
- {name: LESSOR_DRIFT_INTERVAL, value: {{ $v.sweep.driftInterval | quote }}}
- {name: LESSOR_OPERATION_TIMEOUT, value: {{ $v.operations.timeout | quote }}}
- {name: LESSOR_INTERRUPT_GRACE, value: {{ $v.operations.interruptGrace | quote }}}
- {name: LESSOR_PARALLEL, value: {{ include "lessor.whole" $v.operations.parallel | quote }}}
- {name: LESSOR_MAX_SLOTS, value: {{ include "lessor.whole" $v.operations.maxSlots | quote }}}
- {name: LESSOR_OPERATION_MEMORY, value: {{ $v.operations.memory | quote }}}
- {name: LESSOR_MEMORY_RESERVE, value: {{ $v.capacity.memoryReserve | quote }}}
{{- with $v.capacity.memoryLimit }}
- {name: LESSOR_MEMORY_LIMIT, value: {{ . | quote }}}
{{- end }}
{{- with $v.pulumi.path }}
- {name: LESSOR_PULUMI, value: {{ . | quote }}}
{{- end }}
{{- with $v.pulumi.pluginDir }}
- {name: LESSOR_PLUGIN_DIR, value: {{ . | quote }}}
{{- end }}
- {name: LESSOR_WORK_DIR, value: {{ $v.workDir.path | quote }}}
- {name: HOME, value: {{ $v.workDir.path | quote }}}
- {name: LESSOR_DRAIN_TIMEOUT, value: {{ $v.drain.timeout | quote }}}
- {name: LESSOR_LOG_LEVEL, value: {{ $v.log.level | quote }}}
- {name: LESSOR_LOG_FORMAT, value: {{ $v.log.format | quote }}}
- {name: LESSOR_ADMIN_ADDRESS, value: {{ printf ":%d" (int64 $v.admin.port) | quote }}}
- {name: LESSOR_PPROF, value: {{ $v.admin.pprof | quote }}}
- {name: AWS_REGION, value: {{ $v.aws.region | quote }}}
{{- with $v.aws.endpointUrl }}
- {name: AWS_ENDPOINT_URL, value: {{ . | quote }}}
{{- end }}
{{- if $v.caBundle.configMap }}
- {name: SSL_CERT_FILE, value: {{ printf "/etc/lessor-ca/%s" $v.caBundle.key | quote }}}
{{- end }}
{{- end }}

{{/* Variables that are there only with some values, and that `env` may not bring in beside them. */}}
{{- define "lessor.reserved" -}}
- LESSOR_RESULT_TARGET
- LESSOR_REGIONS
- LESSOR_MEMORY_LIMIT
- LESSOR_PULUMI
- LESSOR_PLUGIN_DIR
- AWS_ENDPOINT_URL
- SSL_CERT_FILE
{{- end }}

{{/* What the worker's pod and the pod of the test have in common. */}}
{{- define "lessor.podSpec" -}}
{{- $v := .Values -}}
serviceAccountName: {{ include "lessor.serviceAccountName" . }}
# The worker never talks to Kubernetes. Credentials for AWS come in a volume of their own.
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $v.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- range $name := list "runAsUser" "runAsGroup" "fsGroup" }}
  {{- with index $v.securityContext $name }}
  {{ $name }}: {{ int64 . }}
  {{- end }}
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- with $v.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $v.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  {{- range $name := list "work" "tmp" }}
  - name: {{ $name }}
    emptyDir: {sizeLimit: {{ $v.workDir.sizeLimit }}}
  {{- end }}
  - name: catalog
    configMap: {name: {{ include "lessor.catalogName" . }}}
  {{- if $v.caBundle.configMap }}
  - name: ca
    configMap: {name: {{ $v.caBundle.configMap }}}
  {{- end }}
{{- end }}

{{- define "lessor.container" -}}
{{- $v := .Values -}}
image: {{ include "lessor.image" . }}
imagePullPolicy: {{ $v.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  {{- include "lessor.environment" . | trim | nindent 2 }}
  {{- range $name := keys $v.env | sortAlpha }}
  - {name: {{ $name }}, value: {{ index $v.env $name | quote }}}
  {{- end }}
{{- with $v.envFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
resources:
  {{- range $kind := list "requests" "limits" }}
  {{ $kind }}:
    {{- range $name := list "cpu" "memory" "ephemeral-storage" }}
    {{- with index $v.resources $kind $name }}
    {{ $name }}: {{ . | quote }}
    {{- end }}
    {{- end }}
  {{- end }}
volumeMounts:
  - {name: work, mountPath: {{ $v.workDir.path }}}
  - {name: tmp, mountPath: /tmp}
  - {name: catalog, mountPath: /etc/lessor, readOnly: true}
  {{- if $v.caBundle.configMap }}
  - {name: ca, mountPath: /etc/lessor-ca, readOnly: true}
  {{- end }}
{{- end }}
