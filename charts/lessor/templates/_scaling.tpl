{{/* How fast the number of pods changes, for both autoscalers: up at once, down slowly, since whoever goes has work to finish. */}}
{{- define "lessor.behavior" -}}
scaleUp:
  stabilizationWindowSeconds: {{ int64 .Values.scaling.scaleUp.stabilizationWindowSeconds }}
  policies:
    - {type: Percent, value: {{ int64 .Values.scaling.scaleUp.percent }}, periodSeconds: {{ int64 .Values.scaling.scaleUp.periodSeconds }}}
scaleDown:
  stabilizationWindowSeconds: {{ int64 .Values.scaling.scaleDown.stabilizationWindowSeconds }}
  policies:
    - {type: Pods, value: {{ int64 .Values.scaling.scaleDown.pods }}, periodSeconds: {{ int64 .Values.scaling.scaleDown.periodSeconds }}}
{{- end }}
