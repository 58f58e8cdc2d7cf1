{{/* Refuses to install for the whole cluster if there is another release: both would change the same objects back and forth. */}}
{{- define "portolan.checkAlone" -}}
{{- if .Release.IsInstall }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "Role" "" "").items }}
{{- $labels := .metadata.labels | default dict }}
{{- $operator := and (eq (get $labels "app.kubernetes.io/name") "portolan") (eq (get $labels "app.kubernetes.io/component") "operator") }}
{{- if and $operator (ne .metadata.namespace $.Release.Namespace) }}
{{- fail (printf "Portolan is already installed as release %s in the namespace %s, and two releases for the same namespaces would overwrite each other's objects: upgrade that one, or give each its own watchNamespaces" (get $labels "app.kubernetes.io/instance") .metadata.namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
