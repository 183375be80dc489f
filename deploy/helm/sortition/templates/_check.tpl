{{- /* Refuses values that contradict each other; values.schema.json checks each by itself. */}}
{{- define "sortition.check" }}
{{- if and .Values.nats.secret (ne .Values.profile "replicas") }}
  {{- fail (printf "nats.secret: '%s', must be empty in the profile %s, which has no brokers"
    .Values.nats.secret .Values.profile) }}
{{- end }}
{{- with .Values.autoscaling }}{{ if gt (int .minReplicas) (int .maxReplicas) }}
  {{- fail (printf "autoscaling.minReplicas: %d, must be at most autoscaling.maxReplicas, which is %d"
    (int .minReplicas) (int .maxReplicas)) }}
{{- end }}{{ end }}
{{- end }}

{{- /* Name of the image that .image describes; .tag is the tag if the image has none. */}}
{{- define "sortition.image" }}
{{- .image.repository }}{{ if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .tag }}{{ end }}
{{- end }}

{{- /* Field storageClassName of a claim for `storageClass`, or nothing. */}}
{{- define "sortition.class" }}
{{- with . }}storageClassName: {{ quote . }}{{ end }}
{{- end }}
