{{/* What the schema cannot say, all at once: each problem with the value and the fix. */}}
{{- define "lessor.validate" -}}
{{- $problems := list }}
{{- $v := .Values }}
{{- if not $v.image.repository }}
{{- $problems = append $problems "image.repository is not set; set it to the repository of the worker's image, with its registry" }}
{{- end }}
{{- if not $v.aws.region }}
{{- $problems = append $problems "aws.region is not set; set it to the region of the queue, such as eu-west-1" }}
{{- end }}
{{- if and (eq $v.aws.identity "irsa") (not $v.aws.roleArn) }}
{{- $problems = append $problems "aws.roleArn is not set; set it to the role of the workers, or aws.identity to podIdentity or none" }}
{{- end }}
{{- if and (eq $v.aws.identity "irsa") (not $v.serviceAccount.create) (not $v.serviceAccount.name) }}
{{- $problems = append $problems "serviceAccount.name is not set; name the service account that has the annotation with the role, or set serviceAccount.create to true" }}
{{- end }}
{{- if not $v.queue.url }}
{{- $problems = append $problems "queue.url is not set; set it to the URL of the queue of events" }}
{{- end }}
{{- if not $v.queue.deadLetterUrl }}
{{- $problems = append $problems "queue.deadLetterUrl is not set; set it to the URL of the queue for messages that can never be served" }}
{{- else if eq $v.queue.url $v.queue.deadLetterUrl }}
{{- $problems = append $problems "queue.deadLetterUrl is the queue of events itself; set it to the URL of another queue" }}
{{- end }}
{{- if not $v.state.buckets }}
{{- $problems = append $problems "state.buckets is empty; list the S3 buckets that hold the state" }}
{{- end }}
{{- if not $v.state.secretsProvider }}
{{- $problems = append $problems "state.secretsProvider is not set; set it to the URL of a key such as awskms://alias/lessor?region=eu-west-1" }}
{{- end }}
{{- if and $v.catalog.content $v.catalog.existingConfigMap }}
{{- $problems = append $problems "catalog.content and catalog.existingConfigMap are both set; keep one" }}
{{- else if not (or $v.catalog.content $v.catalog.existingConfigMap) }}
{{- $problems = append $problems "catalog.content is not set; give it with --set-file catalog.content=catalog.yaml, or set catalog.existingConfigMap" }}
{{- end }}
{{- $least := include "lessor.bytes" "2Gi" | int64 }}
{{- if lt (include "lessor.bytes" $v.resources.limits.memory | int64) $least }}
{{- $problems = append $problems (printf "resources.limits.memory is %s; a worker needs at least 2Gi" $v.resources.limits.memory) }}
{{- end }}
{{- if lt (include "lessor.bytes" $v.resources.limits.memory | int64) (include "lessor.bytes" $v.resources.requests.memory | int64) }}
{{- $problems = append $problems (printf "resources.requests.memory is %s, above resources.limits.memory (%s); lower it" $v.resources.requests.memory $v.resources.limits.memory) }}
{{- end }}
{{- if and $v.capacity.memoryLimit (gt (include "lessor.memory" . | int64) (include "lessor.bytes" $v.resources.limits.memory | int64)) }}
{{- $problems = append $problems (printf "capacity.memoryLimit is %s, above resources.limits.memory (%s); lower it, or the pod is killed when its slots are full" $v.capacity.memoryLimit $v.resources.limits.memory) }}
{{- end }}
{{- if lt (include "lessor.slots" . | int64) 1 }}
{{- $problems = append $problems (printf "no operation fits into the memory: capacity.memoryReserve (%s) and operations.memory (%s) are more than resources.limits.memory (%s) or capacity.memoryLimit; raise the limit or lower one of the two" $v.capacity.memoryReserve $v.operations.memory $v.resources.limits.memory) }}
{{- end }}
{{- if ge (include "lessor.seconds" $v.operations.timeout | int64) 39600 }}
{{- $problems = append $problems (printf "operations.timeout is %s; it must be below 11h, since SQS ends a message's visibility after 12h" $v.operations.timeout) }}
{{- end }}
{{- if ne $v.scaling.mode "fixed" }}
{{- if gt (int64 $v.scaling.minReplicas) (int64 $v.scaling.maxReplicas) }}
{{- $problems = append $problems (printf "scaling.minReplicas is %d, above scaling.maxReplicas (%d); lower it" (int64 $v.scaling.minReplicas) (int64 $v.scaling.maxReplicas)) }}
{{- end }}
{{- end }}
{{- if and (eq $v.scaling.mode "hpa") (lt (int64 $v.scaling.minReplicas) 1) }}
{{- $problems = append $problems "scaling.minReplicas is 0; only scaling.mode keda can wake a fleet up, so set it to 1 at least" }}
{{- end }}
{{- if and (eq $v.scaling.mode "hpa") (not $v.scaling.hpa.metrics) (not $v.scaling.hpa.memoryUtilization) (not $v.scaling.hpa.cpuUtilization) }}
{{- $problems = append $problems "scaling.hpa has nothing to scale by; set memoryUtilization, cpuUtilization or metrics" }}
{{- end }}
{{- if eq $v.scaling.mode "keda" }}
{{- $a := $v.scaling.keda.authentication }}
{{- if and (not $a.create) (not $a.name) }}
{{- $problems = append $problems "scaling.keda.authentication.name is not set; name one that exists, or set create to true" }}
{{- end }}
{{- if and $a.create (ne $a.kind "TriggerAuthentication") }}
{{- $problems = append $problems "scaling.keda.authentication.kind is ClusterTriggerAuthentication; the chart makes none, so set create to false and name one that exists" }}
{{- end }}
{{- if and $a.create (eq $a.identityOwner "workload") (ne $v.aws.identity "irsa") }}
{{- $problems = append $problems "scaling.keda.authentication.identityOwner is workload; KEDA finds the workers' role only with aws.identity irsa, so set it to keda" }}
{{- end }}
{{- if and $a.create (eq $a.identityOwner "workload") $a.roleArn }}
{{- $problems = append $problems "scaling.keda.authentication.roleArn is set, but with identityOwner workload KEDA takes the workers' role; remove one of the two" }}
{{- end }}
{{- end }}
{{- if and $v.monitoring.podMonitor.enabled $v.monitoring.serviceMonitor.enabled }}
{{- $problems = append $problems "monitoring.podMonitor and monitoring.serviceMonitor are both enabled; everything would be counted twice, so keep one" }}
{{- end }}
{{- $own := dict }}
{{- range (include "lessor.environment" . | fromYamlArray) }}
{{- $_ := set $own .name true }}
{{- end }}
{{- range $name := keys $v.env | sortAlpha }}
{{- if or (hasKey $own $name) (has $name (include "lessor.reserved" $ | fromYamlArray)) }}
{{- $problems = append $problems (printf "env.%s is set by a value of its own; see the README and set that instead" $name) }}
{{- end }}
{{- end }}
{{- if $problems }}
{{- fail (printf "\n\nthe values do not fit together:\n  - %s\n" (join "\n  - " $problems)) }}
{{- end }}
{{- end }}
