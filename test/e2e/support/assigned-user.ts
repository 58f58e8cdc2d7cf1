/** As OpenShift does: the cluster assigns the user of Portolan's pods, and admits no other. */
import type { OwnCluster } from '../../cluster/cluster.ts'
import { until } from '../../support/until.ts'

export const ASSIGNED_USER = 1_000_660_000
const ADMISSION = 'admissionregistration.k8s.io/v1'
const NAME = 'assigned-users'
const OURS = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
  objectSelector: { matchLabels: { 'app.kubernetes.io/name': 'portolan' } },
}
const ASSIGN = `!has(object.spec.securityContext.runAsUser)
  ? Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsUser: ${ASSIGNED_USER}, fsGroup: ${ASSIGNED_USER}}}}
  : Object{}`
const IS_ASSIGNED = `object.spec.securityContext.?runAsUser.orValue(0) == ${ASSIGNED_USER}
  && object.spec.securityContext.?fsGroup.orValue(${ASSIGNED_USER}) == ${ASSIGNED_USER}
  && (object.spec.containers + object.spec.?initContainers.orValue([]))
    .all(container, container.?securityContext.?runAsUser.orValue(${ASSIGNED_USER}) == ${ASSIGNED_USER})`

/** Resolves when both policies are in force. */
export async function assignUsers({ run }: Pick<OwnCluster, 'run'>): Promise<void> {
  const items = [
    {
      apiVersion: ADMISSION,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: NAME },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: OURS,
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: ASSIGN } }],
      },
    },
    {
      apiVersion: ADMISSION,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name: NAME },
      spec: { policyName: NAME },
    },
    {
      apiVersion: ADMISSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: NAME },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: OURS,
        validations: [{ expression: IS_ASSIGNED, message: 'the user of a pod is assigned by the cluster' }],
      },
    },
    {
      apiVersion: ADMISSION,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: NAME },
      spec: { policyName: NAME, validationActions: ['Deny'] },
    },
  ]
  await run(['kubectl', 'apply', '--filename', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  })
  await until('users are assigned', async () => (await userOf(run, {})) === String(ASSIGNED_USER))
  await until('other users are refused', () =>
    userOf(run, { runAsUser: 65_532 }).then(
      () => false,
      (error: Error) => /assigned by the cluster/.test(error.message),
    ),
  )
}

/** The user of a pod as the API server would make it. */
function userOf(run: OwnCluster['run'], securityContext: object): Promise<string> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'any', labels: OURS.objectSelector.matchLabels },
    spec: { securityContext, containers: [{ name: 'any', image: 'any' }] },
  }
  const command = ['kubectl', 'create', '--dry-run=server', '--filename', '-']
  return run([...command, '--output', 'jsonpath={.spec.securityContext.runAsUser}'], {
    input: JSON.stringify(pod),
  })
}
