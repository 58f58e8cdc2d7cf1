{{/* Gone again once the upgrade's hooks have succeeded; lower weights come first. */}}
{{- define "portolan.upgradeHook" -}}
helm.sh/hook: pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
