{{/* Selects pods with the label portolan.dev/gateway in the watched namespaces. */}}
{{- define "portolan.sidecarPods" -}}
resourceRules:
  - apiGroups: [""]
    apiVersions: [v1]
    resources: [pods]
    operations: [CREATE]
objectSelector:
  matchExpressions:
    - { key: portolan.dev/gateway, operator: Exists }
{{- with .Values.watchNamespaces }}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: In
      values:
        {{- toYaml . | nindent 8 }}
{{- end }}
{{- end -}}

{{/* The router's port on localhost. */}}
{{- define "portolan.sidecarPort" -}}
object.metadata.?annotations['portolan.dev/port'].orValue('8080')
{{- end -}}

{{- define "portolan.sidecarPortIsPort" -}}
{{ include "portolan.sidecarPort" . }}.matches('^[1-9][0-9]{0,4}$') && int({{ include "portolan.sidecarPort" . }}) < 65535
{{- end -}}

{{/* A CEL map with string values. */}}
{{- define "portolan.celMap" -}}
{ {{- range $name, $value := . }}{{ if ne $name (keys $ | sortAlpha | first) }}, {{ end }}'{{ $name }}': '{{ $value }}'{{ end -}} }
{{- end -}}
