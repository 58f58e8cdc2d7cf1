{{/* "portolan" for a release of that name, else "<release>-portolan". */}}
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

{{/* NetworkPolicies of servers let the operator in by the labels name and component: they stay the same in every release. */}}
{{- define "portolan.operatorLabels" -}}
app.kubernetes.io/name: portolan
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{/* Of the routers of all gateways, which the operator makes. */}}
{{- define "portolan.routerLabels" -}}
app.kubernetes.io/name: portolan
app.kubernetes.io/managed-by: portolan
app.kubernetes.io/component: router
{{- end -}}

{{- define "portolan.labels" -}}
app.kubernetes.io/name: portolan
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: portolan
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* An image as it is pulled here: (list $ "node:24"). */}}
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

{{/* Whether the API server knows mutating policies, 1.36 or newer. */}}
{{- define "portolan.knowsSidecars" -}}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}yes{{ end -}}
{{- end -}}

{{- define "portolan.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "portolan.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Variables of OpenTelemetry, where traces are asked for; after PORTOLAN_NAMESPACE and PORTOLAN_POD, which they use. */}}
{{- define "portolan.tracing" -}}
{{- with .Values.tracing }}{{ if .endpoint -}}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ .endpoint | quote }}
OTEL_RESOURCE_ATTRIBUTES: k8s.namespace.name=$(PORTOLAN_NAMESPACE),k8s.pod.name=$(PORTOLAN_POD)
OTEL_TRACES_SAMPLER: {{ .sampler }}
OTEL_TRACES_SAMPLER_ARG: {{ .ratio | quote }}
{{- end }}{{ end }}
{{- end -}}
