{{/* The lines that the policy would add to a pod, for clusters without MutatingAdmissionPolicy. */}}
{{- define "portolan.sidecarByHand" -}}
initContainers:
  - name: portolan-router
    image: {{ include "portolan.image" .root }}
    restartPolicy: Always
    env:
      - { name: PORTOLAN_COMMAND, value: router }
      - { name: PORTOLAN_GATEWAY, value: {{ .gateway }} }
      - { name: PORTOLAN_CATALOG_URL, value: "http://{{ .gateway }}-gateway-admin.{{ .namespace }}.svc:8081" }
      - { name: PORTOLAN_TOKEN_FILE, value: /var/run/portolan/token/token }
      - { name: PORTOLAN_HOST, value: 127.0.0.1 }
      - { name: PORTOLAN_PORT, value: "8080" }
      - { name: PORTOLAN_ADMIN_PORT, value: "8081" }
      - { name: PORTOLAN_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
      - { name: PORTOLAN_POD, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
      {{- range $name, $value := fromYaml (include "portolan.sidecarSettings" .root) }}
      - { name: {{ $name }}, value: {{ $value | quote }} }
      {{- end }}
    ports:
      - { name: portolan-admin, containerPort: 8081 }
    startupProbe:
      httpGet: { path: /readyz, port: 8081 }
      periodSeconds: 1
      failureThreshold: 120
    livenessProbe:
      httpGet: { path: /healthz, port: 8081 }
      timeoutSeconds: 5
      failureThreshold: 6
    terminationMessagePolicy: FallbackToLogsOnError
    resources:
      {{- toYaml .root.Values.sidecar.resources | nindent 6 }}
    securityContext:
      {{- include "portolan.podSecurityContext" .root | nindent 6 }}
      {{- include "portolan.securityContext" . | nindent 6 }}
    volumeMounts:
      - { name: portolan-token, mountPath: /var/run/portolan/token, readOnly: true }
      # Hides the API token of the pod's ServiceAccount, which the router does not need.
      - { name: portolan-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
volumes:
  - name: portolan-token
    projected:
      sources:
        - serviceAccountToken: { audience: portolan, expirationSeconds: 3600, path: token }
{{- end -}}
