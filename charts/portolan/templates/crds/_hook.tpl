{{/* The object is deleted when the hooks of the installation or upgrade have succeeded. Hooks with lower weights run first. */}}
{{- define "portolan.crdsHook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
