{{/* Refuses to install for the whole cluster where another release is: the two would undo each other's work for ever. */}}
{{- define "portolan.checkAlone" -}}
{{- if .Release.IsInstall }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "Role" "" "").items }}
{{- $labels := .metadata.labels | default dict }}
{{- $operator := and (eq (get $labels "app.kubernetes.io/name") "portolan") (eq (get $labels "app.kubernetes.io/component") "operator") }}
{{- if and $operator (ne .metadata.namespace $.Release.Namespace) }}
{{- fail (printf "Portolan is installed already, as release %s in the namespace %s, and two that serve the same namespaces would undo each other's work: upgrade that one, or give each its own watchNamespaces" (get $labels "app.kubernetes.io/instance") .metadata.namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
