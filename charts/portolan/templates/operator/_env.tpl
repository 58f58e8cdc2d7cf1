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
- name: PORTOLAN_USER
  value: {{ empty .Values.user | ternary "assigned" (int64 .Values.user) | quote }}
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
- name: PORTOLAN_UPGRADE_SHARE
  value: {{ .Values.servers.upgrade.atATime | quote }}
- name: PORTOLAN_UPGRADE_PER_NAMESPACE
  value: {{ .Values.servers.upgrade.perNamespace | quote }}
- name: PORTOLAN_NETWORK_POLICIES
  value: {{ .Values.servers.networkPolicies | quote }}
{{- with .Values.servers.dns }}
- name: PORTOLAN_DNS
  value: {{ toJson . | quote }}
{{- end }}
- name: PORTOLAN_TOKEN_REVIEW_BINDING
  value: {{ ternary (include "portolan.tokenReviewName" .) "" .Values.tokenReview.enabled | quote }}
{{- with .Values.monitoring.from }}
- name: PORTOLAN_METRICS_FROM
  value: {{ toJson . | quote }}
{{- end }}
- name: PORTOLAN_PERMITTED
  value: {{ pick .Values.policy "podFields" "registries" "remoteHosts" "refusedAddresses" | toJson | quote }}
- name: PORTOLAN_RESOURCES
  value: {{ toJson .Values.servers.resources | quote }}
{{- with .Values.trustedCertificates }}
- name: PORTOLAN_TRUSTED_CERTIFICATES
  value: {{ . | quote }}
{{- end }}
{{- with .Values.proxy.https }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.proxy.http }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.proxy.noProxy }}
- name: NO_PROXY
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.proxy.secretName }}
- name: PORTOLAN_PROXY_SECRET
  value: {{ . | quote }}
- name: PORTOLAN_PROXY_USERNAME
  valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: username } }
- name: PORTOLAN_PROXY_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: password } }
{{- end }}
- name: PORTOLAN_RESYNC
  value: {{ .Values.operator.resync | quote }}
- name: PORTOLAN_DISCOVERY_CONCURRENCY
  value: {{ .Values.operator.discovery.concurrency | quote }}
- name: PORTOLAN_LOG_LEVEL
  value: {{ .Values.operator.logLevel }}
- name: PORTOLAN_PORT
  value: "8080"
{{- if .Values.console.enabled }}
- name: PORTOLAN_CONSOLE_PORT
  value: "9443"
- name: PORTOLAN_CONSOLE_ACCOUNT
  value: {{ include "portolan.serviceAccountName" . }}
- name: PORTOLAN_CONSOLE_TOKEN_FILE
  value: /var/run/portolan/console/token
{{- end }}
{{- range $name, $value := fromYaml (include "portolan.tracing" .) }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- with .Values.operator.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}
