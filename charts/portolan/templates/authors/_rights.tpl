{{/* How many Secrets and ConfigMaps are checked by name. An authorization check costs 350,000 of the 10,000,000 units of a policy. */}}
{{- define "portolan.maxNamed" -}}20{{- end -}}

{{/* Which writes are checked, of the plural in `resource`: those that change the spec. */}}
{{- define "portolan.authoredSpecs" -}}
failurePolicy: Fail
matchConstraints:
  resourceRules:
    - apiGroups: [portolan.dev]
      apiVersions: ["*"]
      resources: [{{ .resource }}]
      operations: [CREATE, UPDATE]
  {{- with .root.Values.watchNamespaces }}
  namespaceSelector:
    matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: In
        values:
          {{- toYaml . | nindent 10 }}
  {{- end }}
matchConditions:
  # The operator writes status and nothing else; labels, annotations and finalizers name no object.
  - name: spec-is-new
    expression: request.operation == 'CREATE' || object.?spec.orValue({}) != oldObject.?spec.orValue({})
{{- end -}}

{{/*
Variables of a policy. `pod` is a CEL expression for the manifest's parts of the pod; `environments` one for lists of entries with
valueFrom; `sources` one for lists of envFrom; `secrets` and `configMaps` are expressions for lists of names, which may be empty texts.
Names are joined with spaces and split again, because CEL cannot flatten a list of lists; no object has a space in its name.
*/}}
{{- define "portolan.authoredNames" -}}
- name: pod
  expression: {{ .pod | quote }}
- name: containers
  expression: >-
    variables.pod.?containers.orValue([]) + variables.pod.?initContainers.orValue([])
    + variables.pod.?ephemeralContainers.orValue([])
- name: volumes
  expression: variables.pod.?volumes.orValue([])
- name: environments
  expression: >-
    {{ .environments }} + variables.containers.map(container, container.?env.orValue([]))
- name: sources
  expression: >-
    {{ .sources }} + variables.containers.map(container, container.?envFrom.orValue([]))
- name: secrets
  expression: >-
    (variables.environments.map(list, list.map(entry, entry.?valueFrom.?secretKeyRef.?name.orValue('')).join(' '))
    + variables.sources.map(list, list.map(source, source.?secretRef.?name.orValue('')).join(' '))
    + variables.volumes.map(volume,
      ([volume.?secret.?secretName.orValue(''), volume.?azureFile.?secretName.orValue(''),
        volume.?csi.?nodePublishSecretRef.?name.orValue('')]
      + ['cephfs', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'].map(type,
        volume[?type].?secretRef.?name.orValue(''))
      + volume.?projected.?sources.orValue([]).map(source, source.?secret.?name.orValue(''))).join(' '))
    + variables.pod.?imagePullSecrets.orValue([]).map(secret, secret.?name.orValue(''))
    + {{ .secrets }}).join(' ').split(' ').filter(name, name != '')
- name: configMaps
  expression: >-
    (variables.environments.map(list, list.map(entry, entry.?valueFrom.?configMapKeyRef.?name.orValue('')).join(' '))
    + variables.sources.map(list, list.map(source, source.?configMapRef.?name.orValue('')).join(' '))
    + variables.volumes.map(volume,
      ([volume.?configMap.?name.orValue('')]
      + volume.?projected.?sources.orValue([]).map(source, source.?configMap.?name.orValue(''))).join(' '))
    + {{ .configMaps }}).join(' ').split(' ').filter(name, name != '')
- name: getsAllSecrets
  expression: authorizer.group('').resource('secrets').namespace(request.namespace).check('get').allowed()
- name: getsAllConfigMaps
  expression: authorizer.group('').resource('configmaps').namespace(request.namespace).check('get').allowed()
# What remains to be checked: each list is the one before it without its first name.
- name: named0
  expression: >-
    variables.secrets.map(name, 'secrets/' + name) + variables.configMaps.map(name, 'configmaps/' + name)
{{- range $at := until (int (include "portolan.maxNamed" .root)) }}
- name: named{{ add1 $at }}
  expression: >-
    size(variables.named{{ $at }}) == 0 ? [] : variables.named{{ $at }}.filter(name, name != variables.named{{ $at }}[0])
{{- end }}
# Container Storage Interface drivers, projected tokens and certificates of pods act for the pod's ServiceAccount, although its token is not mounted.
- name: usesIdentity
  expression: >-
    variables.pod.?automountServiceAccountToken.orValue(false) == true || variables.volumes.exists(volume,
      has(volume.csi) || volume.?projected.?sources.orValue([]).exists(source,
        has(source.serviceAccountToken) || has(source.podCertificate)))
- name: serviceAccount
  expression: >-
    variables.pod.?serviceAccountName.orValue('') != '' ? variables.pod.serviceAccountName
    : variables.pod.?serviceAccount.orValue('') != '' ? variables.pod.serviceAccount
    : {{ .identity }}
{{- end -}}

{{/* Validations of a policy with the variables above. `runsPods` is a CEL expression. */}}
{{- define "portolan.authorRights" -}}
- expression: request.namespace != '{{ .root.Release.Namespace }}'
  reason: Forbidden
  message: >-
    the namespace {{ .root.Release.Namespace }} is the operator's own, which serves no servers and gateways: create it in another
    namespace
- expression: >-
    !({{ .runsPods }}) || authorizer.group('').resource('pods').namespace(request.namespace).check('create').allowed()
  reason: Forbidden
  messageExpression: >-
    "it runs as pods, and " + request.userInfo.username + " may not create pods in the namespace " + request.namespace
    + ": ask for a Role with the verb create on pods, or for somebody who has it to apply this manifest"
- expression: >-
    variables.serviceAccount == '' || authorizer.group('').resource('serviceaccounts').namespace(request.namespace)
      .name(variables.serviceAccount).check('impersonate').allowed()
  reason: Forbidden
  messageExpression: >-
    "its pods act as the ServiceAccount " + variables.serviceAccount + ", and " + request.userInfo.username
    + " may not impersonate it: ask for a Role with the verb impersonate on serviceaccounts with the resourceName "
    + variables.serviceAccount + " in the namespace " + request.namespace + ", or take from {{ .podPath }} what uses it"
{{- range $at := until (int (include "portolan.maxNamed" .root)) }}
{{- $named := printf "variables.named%d" $at }}
- expression: >-
    size({{ $named }}) == 0
    || ({{ $named }}[0].startsWith('secrets/') ? variables.getsAllSecrets : variables.getsAllConfigMaps)
    || authorizer.group('').resource({{ $named }}[0].split('/', 2)[0]).namespace(request.namespace)
      .name({{ $named }}[0].split('/', 2)[1]).check('get').allowed()
  reason: Forbidden
  messageExpression: >-
    "it makes Portolan use " + {{ $named }}[0] + ", which " + request.userInfo.username
    + " may not read: ask for a Role with the verb get on " + {{ $named }}[0].split('/', 2)[0] + " with the resourceName "
    + {{ $named }}[0].split('/', 2)[1] + " in the namespace " + request.namespace + ", or take the reference away"
{{- end }}
- expression: >-
    size(variables.named{{ include "portolan.maxNamed" .root }}) == 0
    || (variables.getsAllSecrets || size(variables.secrets) == 0) && (variables.getsAllConfigMaps || size(variables.configMaps) == 0)
  reason: Forbidden
  messageExpression: >-
    "it names more than {{ include "portolan.maxNamed" .root }} Secrets and ConfigMaps, more than are checked by name: ask for a Role with the verb get on all secrets and configmaps of the namespace "
    + request.namespace + ", or join them into fewer"
{{- end -}}

{{/* The binding of the policy `name`. */}}
{{- define "portolan.authorBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "portolan.labels" .root | nindent 4 }}
    app.kubernetes.io/component: authors
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
{{- end -}}
