{{/* The object is deleted when the hooks of the upgrade have succeeded. Hooks with lower weights run first. */}}
{{- define "portolan.upgradeHook" -}}
helm.sh/hook: pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
