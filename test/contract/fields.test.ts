/** Every field of our kinds has an effect: on laptops and in clusters it changes what is made of a manifest, is refused, or is read elsewhere. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { decodeFeed } from '../../core/catalog/feed-text.ts'
import { resolve } from '../../core/catalog/resolve.ts'
import { isObject } from '../../core/json.ts'
import { REASON } from '../../crds/conditions.ts'
import type { ConfigMap } from '../../crds/config-map.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { type Manifest, parseManifest } from '../../crds/parse.ts'
import type { Secret } from '../../crds/secret.ts'
import type { McpServer } from '../../crds/server.ts'
import { resolveInputs } from '../../local/inputs.ts'
import { ValueResolver } from '../../local/secrets.ts'
import { gatewayStatus } from '../../operator/plan/gateway-status.ts'
import { ANNOTATION } from '../../operator/plan/names.ts'
import { planGateway } from '../../operator/plan/plan-gateway.ts'
import { planServer } from '../../operator/plan/plan-server.ts'
import { type Field, fieldsOf, inspected, occurrencesOf, scriptOf, variantsOf } from '../support/fields.ts'
import { NAMESPACE, NOW, SETTINGS } from '../support/plan-cases.ts'
import { USERS_WORLD } from '../support/users-world.ts'

const root = join(import.meta.dirname, '..', '..')

/** Fields that have an effect only when a server is started or called, with the file that reads them. */
const ELSEWHERE: Record<'local' | 'cluster', Record<string, string>> = {
  local: {
    'spec.npm.package': 'local/packages/packages.ts',
    'spec.npm.version': 'local/packages/packages.ts',
    'spec.npm.registry': 'core/packages/npm.ts',
    'spec.npm.bin': 'local/packages/packages.ts',
    'spec.npm.args': 'local/launch-server.ts',
    'spec.pypi.package': 'local/packages/packages.ts',
    'spec.pypi.version': 'local/packages/packages.ts',
    'spec.pypi.index': 'core/packages/pypi.ts',
    'spec.pypi.bin': 'local/packages/packages.ts',
    'spec.pypi.args': 'local/launch-server.ts',
    'spec.image.name': 'local/launch-server.ts',
    'spec.image.command': 'local/launch-server.ts',
    'spec.image.args': 'local/launch-server.ts',
    'spec.command.run': 'local/launch-server.ts',
    'spec.command.args': 'local/launch-server.ts',
    'spec.command.cwd': 'local/launch-server.ts',
    'spec.remote.url': 'local/launch-server.ts',
    'spec.auth.oauth.tokenUrl': 'core/mcp/client/http/oauth-request.ts',
    'spec.auth.oauth.clientId': 'core/mcp/client/http/oauth-request.ts',
    'spec.auth.oauth.scopes': 'core/mcp/client/http/oauth-request.ts',
    'spec.auth.oauth.audience': 'core/mcp/client/http/oauth-request.ts',
    ...Object.fromEntries(
      ['tokenUrl', 'clientId', 'scopes', 'audience'].map(field => [
        `spec.auth.perUser.tokenExchange.${field}`,
        'core/mcp/client/http/oauth-request.ts',
      ]),
    ),
    'spec.auth.perUser.oauth.scopes': 'local/logins/local-logins.ts',
    'spec.auth.perUser.oauth.clientId': 'local/logins/local-logins.ts',
    'spec.auth.perUser.oauth.issuer': 'local/logins/local-logins.ts',
    'spec.auth.perUser.secrets.headers[].name': 'local/user-secrets.ts',
    'spec.auth.perUser.secrets.headers[].key': 'local/user-secrets.ts',
    'spec.auth.perUser.secrets.headers[].prefix': 'local/user-secrets.ts',
    'spec.scaling.min': 'local/launch-server.ts',
    'spec.scaling.idleAfter': 'local/launch-server.ts',
    'spec.discovery.interval': 'core/mcp/discovery/schedule.ts',
  },
  cluster: {
    'spec.discovery.interval': 'core/mcp/discovery/schedule.ts',
  },
}

/** What the description of a field, or of its parent, says if a placement ignores the field. */
const IGNORED = { local: /Clusters only|A laptop ignores it/, cluster: /On a laptop only/ }

const given = parseAllDocuments(readFileSync(join(import.meta.dirname, 'every-field.yaml'), 'utf8')).map(
  document => document.toJS() as Manifest,
)
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's' },
  stringData: { k: 'secret' },
} as Secret
/** Also used as the value of a header, for which any text does. */
const KEY_SET = '{"keys":[]}'
const configMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c' },
  data: { k: KEY_SET },
} as ConfigMap

for (const kind of ['McpServer', 'McpGateway', 'McpScript'] as const) {
  const fields = fieldsOf(kind)
  const manifests = given.filter(manifest => manifest.kind === kind)

  test(`every-field.yaml is valid and sets every field of a ${kind}`, () => {
    for (const manifest of manifests) assert.deepEqual(parseManifest(manifest).problems, undefined)
    const unset = fields.filter(
      field => !manifests.some(manifest => occurrencesOf(field, manifest).length > 0),
    )
    assert.deepEqual(
      unset.map(({ path }) => path),
      [],
    )
  })

  for (const [placement, effectOf] of [
    ['local', localEffect],
    ['cluster', clusterEffect],
  ] as const) {
    test(`every field of a ${kind} has an effect, or is refused, in placement ${placement}`, async () => {
      const ineffective: string[] = []
      for (const field of fields) {
        const acts = await changesSomething(field, manifests, effectOf)
        const elsewhere = ELSEWHERE[placement][field.path]
        const ignored = IGNORED[placement].test(field.description)
        if (elsewhere) assert.ok(mentions(elsewhere, field), `${elsewhere} does not read ${field.path}`)
        if (!acts && !elsewhere && !ignored) ineffective.push(field.path)
        if (acts && elsewhere) ineffective.push(`${field.path} has an effect here: remove it from ELSEWHERE`)
      }
      assert.deepEqual(ineffective, [])
    })
  }
}

test('every field of a router config is read by a router', () => {
  const { config } = resolve({
    gateway: manifestOf('McpGateway', 'every'),
    servers: given.filter(({ kind }) => kind === 'McpServer').map(manifest => parsed(manifest) as McpServer),
    scripts: SCRIPTS,
    observed: new Map(),
    placement: 'cluster',
    now: NOW,
  })
  const policy = readFileSync(join(root, 'core/catalog/policy.ts'), 'utf8')
  const code = [policy, ...['router', 'core/mcp'].flatMap(sourcesIn)].join('\n')
  const unread = [...namesIn(config)].filter(name => !new RegExp(`\\b${name}\\b`).test(code))
  assert.deepEqual(unread, [])
})

test('every reason, every fault code and every dependency is used by product code', () => {
  const files = ['bridge', 'cli', 'core', 'local', 'operator', 'router'].flatMap(sourcesIn)
  const code = files.join('\n')
  const faults = [...readFileSync(join(root, 'core/errors.ts'), 'utf8').matchAll(/^ {2}\| '(\w+)'/gm)].map(
    ([, name]) => name,
  )
  assert.ok(faults.length > 5)
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: object
  }
  const wanted = [
    ...Object.keys(REASON).map(name => `REASON\\.${name}\\b`),
    ...faults.map(name => `Fault\\(\\s*'${name}'|return '${name}'|\\? '${name}'|: '${name}'`),
    ...Object.keys(dependencies).map(name => `from '${name}['/]|import\\('${name}['/]`),
  ]
  assert.deepEqual(
    wanted.filter(pattern => !new RegExp(pattern).test(code)),
    [],
  )
})

/** Whether unsetting the field, or giving it another value, changes the effect of any manifest. */
async function changesSomething(
  field: Field,
  manifests: readonly Manifest[],
  effectOf: (manifest: Manifest) => unknown,
): Promise<boolean> {
  for (const manifest of manifests) {
    const before = JSON.stringify(await effectOf(parsed(manifest)))
    for (const place of occurrencesOf(field, manifest)) {
      for (const variant of variantsOf(manifest, place)) {
        const { manifest: other } = parseManifest(variant)
        if (other && JSON.stringify(await effectOf(other)) !== before) return true
      }
    }
  }
  return false
}

function parsed(value: Manifest): Manifest {
  const { manifest } = parseManifest(value)
  assert.ok(manifest)
  return manifest
}

function manifestOf(kind: 'McpGateway', name: string): McpGateway {
  const found = given.find(manifest => manifest.kind === kind && manifest.metadata.name === name)
  assert.ok(found)
  return parsed(found) as McpGateway
}

function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map(path => readFileSync(join(root, folder, path), 'utf8'))
}

/** Names of all fields below a value; keys of maps that users name are left out. */
function namesIn(value: unknown): Set<string> {
  if (Array.isArray(value)) return new Set(value.flatMap(inner => [...namesIn(inner)]))
  if (!isObject(value)) return new Set()
  const entries = Object.entries(value)
  return new Set(
    entries.flatMap(([key, inner]) => [
      key,
      ...namesIn(key === 'overrides' ? Object.values(inner as object) : inner),
    ]),
  )
}

function mentions(file: string, { path }: Field): boolean {
  const [name = ''] = path.match(/\w+$/) ?? []
  return new RegExp(`\\b${name}\\b`).test(readFileSync(join(root, file), 'utf8'))
}

/** Servers and scripts that a gateway under test selects from, and a gateway that selects a server under test. */
const LABELS = [{ team: 'a' }, { team: 'b' }, { team: 'a', tier: 'bronze' }]
const EXCHANGING = given.find(({ metadata }) => metadata.name === 'exchanging-elsewhere') as McpServer
const SERVERS = [...LABELS, undefined].map((labels, at) =>
  parsed({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: `s${at}`, namespace: NAMESPACE, labels },
    spec: labels ? { image: { name: 'a', command: ['a'] }, logging: { payloads: 'full' } } : EXCHANGING.spec,
  } as unknown as Manifest),
) as McpServer[]
const SCRIPTS = LABELS.map((labels, at) => inspected(scriptOf(`x${at}`, labels, NAMESPACE)))
const GATEWAY = parsed({
  apiVersion: 'portolan.dev/v1alpha1',
  kind: 'McpGateway',
  metadata: { name: 'all', namespace: NAMESPACE },
  spec: { audit: { payloads: 'full' }, code: { enabled: true } },
} as unknown as Manifest) as McpGateway

/** What a laptop makes of a manifest, without digests. */
async function localEffect(manifest: Manifest): Promise<unknown> {
  const common = {
    observed: new Map(),
    configMaps: new Map([['c', { k: KEY_SET }]]),
    placement: 'local' as const,
    now: NOW,
  }
  if (manifest.kind === 'McpGateway') {
    return plain(resolve({ ...common, gateway: inNamespace(manifest), servers: SERVERS, scripts: SCRIPTS }))
  }
  const ofScript = () => ({ servers: SERVERS, scripts: [inspected(inNamespace(manifest))] })
  if (manifest.kind === 'McpScript') return plain(resolve({ ...common, gateway: GATEWAY, ...ofScript() }))
  const server = manifest as McpServer
  const places = { secrets: [secret], configMaps: [configMap], imported: [], env: {} }
  const values = new ValueResolver(places, 'default')
  const { digest: _, ...inputs } = await resolveInputs(server, root, values, Buffer.alloc(32))
  return plain({ inputs, resolved: resolve({ ...common, gateway: GATEWAY, servers: [inNamespace(server)] }) })
}

/** What the operator makes of a manifest, without digests. */
function clusterEffect(manifest: Manifest): unknown {
  const own = inNamespace(manifest)
  const references = [
    { kind: 'Secret' as const, name: 's', exists: true, digests: { k: '1' } },
    { kind: 'ConfigMap' as const, name: 'c', exists: true, digests: { k: '1' }, values: { k: KEY_SET } },
  ]
  // Busy and idle at once, so that every field of `scaling` has an effect.
  const load = { isKnown: true, isWanted: false, calls: 10, sessions: 0, usedAtMs: NOW - 4 * 60_000 }
  const use = { load, memory: { awakeSinceMs: NOW - 60 * 60_000 }, current: 2 }
  const nothing = { taken: [], otherContent: [], claims: [], pods: [] }
  const common = { ...nothing, references, users: USERS_WORLD, settings: SETTINGS, now: NOW, use }
  const gateway = own.kind === 'McpGateway' ? (own as McpGateway) : GATEWAY
  const servers = own.kind === 'McpServer' ? [own as McpServer] : SERVERS
  const seen = { serviceAccount: '1', slices: new Map(), descriptionTokens: new Map(), reports: [] }
  const scripts = own.kind === 'McpScript' ? [inspected(own)] : SCRIPTS
  const world = { ...common, ...seen, gateway, servers, scripts }
  const plan = planGateway(world)
  return plain({
    server: own.kind === 'McpServer' && planServer({ ...common, server: own as McpServer }),
    gateway: { ...plan, status: gatewayStatus(world, plan) },
  })
}

function inNamespace<Kind extends Manifest>(manifest: Kind): Kind {
  return { ...manifest, metadata: { ...manifest.metadata, namespace: NAMESPACE } }
}

/** Leaves out digests, which change with every field, and decodes feeds, which are compressed. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  if (typeof value.feed === 'string') return plain(decodeFeed(Buffer.from(value.feed, 'base64')))
  const kept = Object.entries(value).filter(([key]) => !DIGESTS.has(key))
  return Object.fromEntries(kept.map(([key, inner]) => [key, plain(inner)]))
}

const DIGESTS = new Set(['revision', ANNOTATION.revision, ANNOTATION.inputs])
