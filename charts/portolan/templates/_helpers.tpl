{{/* The release's name if it contains "portolan", otherwise "<release>-portolan". */}}
{{- define "portolan.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains "portolan" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-portolan" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "portolan.serviceAccountName" -}}
{{- .Values.operator.serviceAccount.name | default (include "portolan.fullname" .) -}}
{{- end -}}

{{/* NetworkPolicies of servers allow the operator by the labels name and component, so these must not change between releases. */}}
{{- define "portolan.operatorLabels" -}}
app.kubernetes.io/name: portolan
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{/* Labels of the routers of all gateways, which the operator creates. */}}
{{- define "portolan.routerLabels" -}}
app.kubernetes.io/name: portolan
app.kubernetes.io/managed-by: portolan
app.kubernetes.io/component: router
{{- end -}}

{{/* Labels of the pods of all servers. */}}
{{- define "portolan.serverLabels" -}}
app.kubernetes.io/name: portolan
app.kubernetes.io/managed-by: portolan
app.kubernetes.io/component: server
{{- end -}}

{{/* The ClusterRole and the ClusterRoleBinding of routers that review tokens. */}}
{{- define "portolan.tokenReviewName" -}}
{{ include "portolan.fullname" . }}-token-review
{{- end -}}

{{- define "portolan.labels" -}}
app.kubernetes.io/name: portolan
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: portolan
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* An image with image.registry in front: (list $ "node:24"). */}}
{{- define "portolan.pulled" -}}
{{- $registry := (index . 0).Values.image.registry | trimSuffix "/" -}}
{{- if $registry }}{{ $registry }}/{{ end }}{{ index . 1 -}}
{{- end -}}

{{- define "portolan.image" -}}
{{- $image := .Values.image -}}
{{- $version := printf ":%s" ($image.tag | default .Chart.AppVersion) -}}
{{- if $image.digest }}{{ $version = printf "@%s" $image.digest }}{{ end -}}
{{- include "portolan.pulled" (list . (printf "%s%s" $image.repository $version)) -}}
{{- end -}}

{{/* Whether the API server has MutatingAdmissionPolicy v1 (Kubernetes 1.36 or newer). */}}
{{- define "portolan.knowsSidecars" -}}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}yes{{ end -}}
{{- end -}}

{{- define "portolan.podSecurityContext" -}}
runAsNonRoot: true
{{- with .Values.user }}
runAsUser: {{ int64 . }}
runAsGroup: {{ int64 . }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "portolan.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* OpenTelemetry's variables, if tracing.endpoint is set. They use PORTOLAN_NAMESPACE and PORTOLAN_POD, so they must follow these. */}}
{{- define "portolan.tracing" -}}
{{- with .Values.tracing }}{{ if .endpoint -}}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ .endpoint | quote }}
OTEL_RESOURCE_ATTRIBUTES: k8s.namespace.name=$(PORTOLAN_NAMESPACE),k8s.pod.name=$(PORTOLAN_POD)
OTEL_TRACES_SAMPLER: {{ .sampler }}
OTEL_TRACES_SAMPLER_ARG: {{ .ratio | quote }}
{{- end }}{{ end }}
{{- end -}}
