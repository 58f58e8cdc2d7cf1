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

{{/* Which addresses remote servers may have that a sidecar calls itself, and OpenTelemetry's variables. */}}
{{- define "portolan.sidecarSettings" -}}
{{- with .Values.policy.remoteHosts }}
PORTOLAN_REMOTE_HOSTS: {{ join "," . | quote }}
{{- end }}
{{- with .Values.policy.refusedAddresses }}
PORTOLAN_REFUSED_ADDRESSES: {{ join "," . | quote }}
{{- end }}
{{ include "portolan.tracing" . }}
{{- end -}}

{{/* Bytes that the scripts of the gateway need, as core/catalog/script-memory.ts computes it for routers. */}}
{{- define "portolan.scriptBytes" -}}
!params.?spec.code.enabled.orValue(false) ? 0 :
  2 * int(params.spec.code.limits.scripts) * quantity(params.spec.code.limits.memory).add(quantity('24Mi')).asInteger()
{{- end -}}

{{/* A CEL map with string values: amounts of resources, and the memory that scripts need besides. */}}
{{- define "portolan.celResources" -}}
{ {{- range $name, $value := . }}{{ if ne $name (keys $ | sortAlpha | first) }}, {{ end }}'{{ $name }}': {{ if eq $name "memory" -}}
variables.scriptBytes == 0 ? '{{ $value }}' : string(quantity('{{ $value }}').asInteger() + variables.scriptBytes)
{{- else }}'{{ $value }}'{{ end }}{{ end -}} }
{{- end -}}
