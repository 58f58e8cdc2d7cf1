{{/* The environment variables that operator/config.ts reads. */}}
{{- define "portolan.operatorEnv" -}}
- name: PORTOLAN_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: PORTOLAN_POD
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: PORTOLAN_WATCH_NAMESPACES
  value: {{ join "," .Values.watchNamespaces | quote }}
- name: PORTOLAN_IMAGE
  value: {{ include "portolan.image" . | quote }}
- name: PORTOLAN_IMAGE_PULL_POLICY
  value: {{ .Values.image.pullPolicy }}
{{- $secrets := list }}
{{- range .Values.imagePullSecrets }}{{ $secrets = append $secrets .name }}{{ end }}
- name: PORTOLAN_IMAGE_PULL_SECRETS
  value: {{ join "," $secrets | quote }}
- name: PORTOLAN_DELIVERY
  value: {{ .Values.servers.delivery }}
- name: PORTOLAN_NPM_IMAGE
  value: {{ include "portolan.pulled" (list . .Values.servers.npm.image) | quote }}
{{- with .Values.servers.npm.registry }}
- name: PORTOLAN_NPM_REGISTRY
  value: {{ . | quote }}
{{- end }}
- name: PORTOLAN_PYPI_IMAGE
  value: {{ include "portolan.pulled" (list . .Values.servers.pypi.image) | quote }}
{{- with .Values.servers.pypi.index }}
- name: PORTOLAN_PYPI_INDEX
  value: {{ . | quote }}
{{- end }}
- name: PORTOLAN_NETWORK_POLICIES
  value: {{ .Values.servers.networkPolicies | quote }}
- name: PORTOLAN_RESOURCES
  value: {{ toJson .Values.servers.resources | quote }}
- name: PORTOLAN_RESYNC
  value: {{ .Values.operator.resync | quote }}
- name: PORTOLAN_DISCOVERY_CONCURRENCY
  value: {{ .Values.operator.discovery.concurrency | quote }}
- name: PORTOLAN_LOG_LEVEL
  value: {{ .Values.operator.logLevel }}
- name: PORTOLAN_PORT
  value: "8080"
{{- range $name, $value := fromYaml (include "portolan.tracing" .) }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- with .Values.operator.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}
