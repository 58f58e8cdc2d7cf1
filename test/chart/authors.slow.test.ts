/** The admission policies for authors on a real API server: a manifest gives its author no access that the author does not have. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { API_VERSION } from '../../crds/object-meta.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../support/api-server.ts'
import { type Helm, helmAlone, objectsOf } from './helm.ts'
import { inForce } from './in-force.ts'
import { GATEWAY_REFERENCES, POD_REFERENCES, SERVER_REFERENCES } from './references.ts'

const skip = skipApiServer()
const NAMESPACE = 'team-a'
const OPERATORS = 'portolan'
/** A server that runs in a pod and needs no Secret. */
const NPM = { npm: { package: 'server', version: '1.0.0' } }
const REMOTE = { remote: { url: 'https://mcp.example.com/mcp' } }

let server: ApiServer
let helm: Helm

before(async () => {
  if (skip) return
  server = await startApiServer()
  helm = helmAlone()
  for (const name of [NAMESPACE, OPERATORS]) await server.namespace(name)
  const policies = objectsOf(await helm.render()).filter(({ kind }) => /^Validating/.test(kind))
  const authors = policies.filter(({ metadata }) => metadata.name.includes('-authors'))
  assert.equal(authors.length, 4)
  await server.kubectl(['apply', '-f', '-'], list(authors))
  const rights = [NAMESPACE, OPERATORS].flatMap(namespace =>
    Object.entries(USERS).flatMap(([name, rules]) => rightsOf(name, rules, namespace)),
  )
  await server.kubectl(['apply', '-f', '-'], list(rights))
  await inForce(async () => {
    await refused('outsider', 'McpServer', NPM, /may not create pods/)
    await refused('outsider', 'McpGateway', {}, /may not create pods/)
  })
})
after(async () => {
  helm?.end()
  await server?.stop()
})

/** Rules of users in the namespace, besides all rights on our kinds. */
const may = (verb: string, resource: string, ...resourceNames: string[]) => ({
  apiGroups: ['', 'networking.k8s.io', 'gateway.networking.k8s.io'],
  resources: [resource],
  verbs: [verb],
  ...(resourceNames.length > 0 && { resourceNames }),
})
const names = (count: number) => Array.from({ length: count }, (_, at) => `s${at}`)
const USERS: Readonly<Record<string, object[]>> = {
  outsider: [],
  runner: [may('create', 'pods')],
  'reader-of-names': [
    may('create', 'pods'),
    may('create', 'ingresses'),
    may('get', 'secrets', 'named', ...names(21)),
    may('get', 'configmaps', 'named'),
    may('impersonate', 'serviceaccounts', 'named'),
  ],
  insider: [
    may('create', 'pods'),
    may('get', 'secrets'),
    may('get', 'configmaps'),
    may('impersonate', 'serviceaccounts'),
    may('create', 'services'),
    may('create', 'persistentvolumeclaims'),
    may('create', 'ingresses'),
    may('create', 'httproutes'),
  ],
}

for (const [path, spec] of Object.entries(SERVER_REFERENCES))
  test(`an McpServer may name an object at ${path} only if its author may get the object`, { skip }, () =>
    onlyForReaders('McpServer', spec),
  )

for (const [path, spec] of Object.entries(GATEWAY_REFERENCES))
  test(`an McpGateway may name an object at ${path} only if its author may get the object`, { skip }, () =>
    onlyForReaders('McpGateway', spec),
  )

for (const [path, pod] of Object.entries(POD_REFERENCES))
  test(`a pod template may name an object at ${path} only if its author may get the object`, {
    skip,
  }, async () => {
    await onlyForReaders('McpServer', { ...NPM, pod })
    await refused('runner', 'McpGateway', { router: { pod } }, /may not/)
    await admitted('insider', 'McpGateway', { router: { pod } })
  })

test('an author who may not create pods cannot create anything that runs as a pod', { skip }, async () => {
  const message = /outsider may not create pods in the namespace team-a: ask for a Role with the verb create/
  await refused('outsider', 'McpServer', NPM, message)
  await refused('outsider', 'McpServer', { image: { name: 'a/b', transport: 'http', port: 80 } }, message)
  await refused('outsider', 'McpGateway', {}, message)
  await admitted('outsider', 'McpServer', REMOTE)
  await admitted('runner', 'McpServer', NPM)
  await admitted('runner', 'McpGateway', {})
})

test('an author who may not read all Secrets cannot select Secrets by their labels', { skip }, async () => {
  const selector = { matchLabels: { 'portolan.dev/for': 'crm' } }
  const spec = { ...REMOTE, sessions: 'perUser', auth: { perUser: { secrets: { selector } } } }
  const message =
    /every Secret with these labels.* may not read all: ask for a Role with the verb get on all secrets/
  for (const user of ['outsider', 'reader-of-names']) await refused(user, 'McpServer', spec, message)
  await admitted('insider', 'McpServer', spec)
})

test('an author who may not impersonate a ServiceAccount cannot run anything with its rights', {
  skip,
}, async () => {
  const token = { projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }
  const podsByAccount: Record<string, object[]> = {
    admin: [{ serviceAccountName: 'admin' }, { serviceAccount: 'admin' }],
    default: [
      { automountServiceAccountToken: true },
      { volumes: [{ name: 'token', ...token }] },
      { volumes: [{ name: 'token', projected: { sources: [{ podCertificate: { signerName: 'a/b' } }] } }] },
      { volumes: [{ name: 'vault', csi: { driver: 'secrets-store.csi.k8s.io' } }] },
    ],
  }
  for (const [account, pods] of Object.entries(podsByAccount)) {
    const message = new RegExp(`ServiceAccount ${account}, and \\S+ may not impersonate it: ask for a Role`)
    for (const pod of pods) {
      await refused('runner', 'McpServer', { ...NPM, pod }, message)
      await refused('reader-of-names', 'McpServer', { ...NPM, pod }, message)
      await admitted('insider', 'McpServer', { ...NPM, pod })
    }
  }
  await admitted('reader-of-names', 'McpServer', { ...NPM, pod: { serviceAccountName: 'named' } })
})

test('containers and volumes in a router’s pod need the right to impersonate the router’s ServiceAccount', {
  skip,
}, async () => {
  const message = /ServiceAccount new-gateway, and runner may not impersonate it/
  for (const pod of [
    { containers: [{ name: 'router', image: 'mine' }] },
    { initContainers: [{ name: 'first', image: 'mine' }] },
    { volumes: [{ name: 'tmp', emptyDir: {} }] },
  ]) {
    await refused('runner', 'McpGateway', { router: { pod } }, message)
    await admitted('insider', 'McpGateway', { router: { pod } })
  }
  await admitted('runner', 'McpGateway', { router: { pod: { nodeSelector: { disk: 'ssd' } } } })
})

test('an author who may not create PersistentVolumeClaims cannot request storage', { skip }, async () => {
  const message = /runner may not create persistentvolumeclaims in the namespace team-a: ask for a Role/
  for (const spec of [
    { ...NPM, storage: { size: '1Gi' } },
    { ...NPM, sessions: 'perUser', users: { volume: { size: '1Gi' } } },
  ]) {
    await refused('runner', 'McpServer', spec, message)
    await admitted('insider', 'McpServer', spec)
  }
})

test('an author who may not create Services cannot change the Service of a gateway', { skip }, async () => {
  const router = { service: { externalIPs: ['192.0.2.1'] } }
  await refused('runner', 'McpGateway', { router }, /may not create services in the namespace team-a: ask/)
  await admitted('insider', 'McpGateway', { router })
})

test('an author who may not create Ingresses or HTTPRoutes cannot expose a gateway by them', {
  skip,
}, async () => {
  const gateways = {
    ingresses: { ingress: { host: 'mcp.example.com', annotations: { snippet: 'return 200;' } } },
    httproutes: { gatewayAPI: { parentRefs: [{ name: 'public' }] } },
  }
  for (const [resource, expose] of Object.entries(gateways)) {
    const message = new RegExp(`may not create ${resource} in the namespace team-a: ask`)
    await refused('runner', 'McpGateway', { router: { expose } }, message)
    await admitted('insider', 'McpGateway', { router: { expose } })
  }
})

test('each Secret is checked once for all its keys, and more than 20 Secrets need the right to read all', {
  skip,
}, async () => {
  const env = (secrets: string[]) =>
    Array.from({ length: 256 }, (_, at) => ({
      name: `V${at}`,
      valueFrom: { secretKeyRef: { name: secrets[at % secrets.length], key: `k${at}` } },
    }))
  await admitted('reader-of-names', 'McpServer', { ...NPM, env: env(['named']) })
  await admitted('reader-of-names', 'McpServer', { ...NPM, env: env(names(20)) })
  await refused('reader-of-names', 'McpServer', { ...NPM, env: env(names(21)) }, /more than 20 .* join them/)
  await refused('reader-of-names', 'McpServer', { ...NPM, env: env([...names(19), 'x']) }, /secrets\/x/)
  await admitted('insider', 'McpServer', { ...NPM, env: env(names(256)) })
})

test('nobody can create a server or gateway in the operator’s own namespace', { skip }, async () => {
  for (const [kind, spec] of [['McpServer', REMOTE] as const, ['McpGateway', {}] as const]) {
    const creating = dryRun('insider', kind, spec, OPERATORS)
    await assert.rejects(creating, /portolan is the operator's own.*create it in another namespace/s)
  }
})

test('an object of another author may be labelled, deleted and given a status, but its spec cannot be changed', {
  skip,
}, async () => {
  const metadata = { name: 'shared', namespace: NAMESPACE }
  const headers = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]
  const object = { apiVersion: API_VERSION, kind: 'McpServer', metadata, spec: { ...REMOTE, headers } }
  await server.kubectl(['create', '-f', '-'], JSON.stringify(object))
  const as = (...args: string[]) => server.kubectl([...args, `--namespace=${NAMESPACE}`, '--as=outsider'])
  const patch = (patch: object, ...flags: string[]) =>
    as('patch', 'mcpserver/shared', '--type=merge', `--patch=${JSON.stringify(patch)}`, ...flags)
  await patch({ metadata: { labels: { team: 'b' }, annotations: { 'portolan.dev/refresh': '1' } } })
  await patch({ metadata: { finalizers: ['example.com/kept'] } })
  await patch({ status: { endpoint: 'https://mcp.example.com/mcp' } }, '--subresource=status')
  for (const spec of [{ remote: { url: 'https://attacker.example.com' } }, { description: 'mine' }])
    await assert.rejects(patch({ spec }), /secrets\/s, which outsider may not read/)
  await as('delete', 'mcpserver/shared', '--wait=false')
  await patch({ metadata: { finalizers: null } })
})

test('with policy.authorCheck: false the chart has no policies for authors', { skip }, async () => {
  const objects = objectsOf(await helm.render({ policy: { authorCheck: false } }))
  assert.deepEqual(
    objects.filter(({ metadata }) => metadata.name.includes('-authors')),
    [],
  )
})

async function onlyForReaders(kind: 'McpServer' | 'McpGateway', spec: object): Promise<void> {
  const message =
    /uses? (secrets|configmaps)\/named, which runner may not read: ask for a Role with the verb get on \1 with the resourceName named in the namespace team-a/
  await refused('runner', kind, spec, message)
  await admitted('reader-of-names', kind, spec)
}

async function refused(
  user: string,
  kind: 'McpServer' | 'McpGateway',
  spec: object,
  message: RegExp,
): Promise<void> {
  await assert.rejects(dryRun(user, kind, spec), message)
}

async function admitted(user: string, kind: 'McpServer' | 'McpGateway', spec: object): Promise<void> {
  assert.match(await dryRun(user, kind, spec), /created/)
}

/** The object is not stored. */
function dryRun(user: string, kind: string, spec: object, namespace = NAMESPACE): Promise<string> {
  const object = { apiVersion: API_VERSION, kind, metadata: { name: 'new', namespace }, spec }
  return server.kubectl(['create', '--dry-run=server', '-f', '-', `--as=${user}`], JSON.stringify(object))
}

function rightsOf(name: string, rules: object[], namespace: string): object[] {
  const own = { apiGroups: ['portolan.dev'], resources: ['*'], verbs: ['*'] }
  const rbac = 'rbac.authorization.k8s.io'
  const metadata = { name, namespace }
  return [
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: [own, ...rules] },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ apiGroup: rbac, kind: 'User', name }],
    },
  ]
}

function list(items: object[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}
