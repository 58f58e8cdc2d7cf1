/** The report on access rules: what they grant, what matches nothing, and what nobody may use. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpGateway } from '../../crds/gateway.ts'
import { parseManifest } from '../../crds/parse.ts'
import type { McpServer } from '../../crds/server.ts'
import type { JsonObject } from '../json.ts'
import { reportAccess } from './access-report.ts'
import { accessVerdict } from './access-verdicts.ts'
import { resolve } from './resolve.ts'
import type { ServerCatalog } from './server-catalog.ts'

function manifest<Kind>(kind: string, name: string, spec: object): Kind {
  const labels = { team: name }
  const value = { apiVersion: 'portolan.dev/v1alpha1', kind, metadata: { name, labels }, spec }
  const { manifest, problems } = parseManifest(value)
  assert.ok(manifest, JSON.stringify(problems))
  return manifest as Kind
}

function catalog(server: string, offers: Partial<ServerCatalog> & { names: string[] }): ServerCatalog {
  const { names, ...more } = offers
  return {
    server,
    protocol: '2025-11-25',
    capabilities: {},
    tools: names.map(name => ({
      definition: { name, inputSchema: {} as JsonObject },
      tokens: 1,
      descriptionTokens: 0,
      schemaTokens: 0,
    })),
    invalid: [],
    resources: [],
    resourceTemplates: [],
    prompts: [],
    incomplete: [],
    digest: server,
    ...more,
  }
}

const NOTES = catalog('notes', { names: ['get_note', 'delete_note'], prompts: [{ name: 'summary' }] })
const MAIL = catalog('mail', {
  names: ['send'],
  resourceTemplates: [{ uriTemplate: 'mail:///{id}', name: 'm' }],
})
const TOKENS = { tokens: { secretName: 'callers' } }

function report(spec: object, catalogs = [NOTES, MAIL], tokens = ['ci']) {
  const gateway = manifest<McpGateway>('McpGateway', 'tools', spec)
  const servers = ['mail', 'notes'].map(name =>
    manifest<McpServer>('McpServer', name, { npm: { package: name, version: '1.0.0' } }),
  )
  const { config, problems } = resolve({
    gateway,
    servers,
    observed: new Map(),
    placement: 'cluster',
    now: 0,
  })
  assert.deepEqual(problems, [])
  const found = reportAccess({
    ...config,
    catalogs: new Map(catalogs.map(one => [one.server, one])),
    tokens: new Set(tokens),
  })
  return {
    ...found,
    ...accessVerdict(found),
    lines: found.findings.map(({ path, message }) => `${path}: ${message}`),
  }
}

test('a rule that grants something is counted, by servers and tools', () => {
  const { rules, lines, status, reason } = report({
    auth: TOKENS,
    tools: { deny: ['delete_*'] },
    access: [
      { name: 'all', subjects: [{ kind: 'Token', name: 'ci' }] },
      { name: 'mail', servers: { matchLabels: { team: 'mail' } } },
    ],
  })
  assert.deepEqual(rules, [
    { name: 'all', servers: 2, tools: 2 },
    { name: 'mail', servers: 1, tools: 1 },
  ])
  assert.deepEqual([lines, status, reason], [[], 'True', 'Resolved'])
})

test('a gateway without rules has the reason NoRules', () => {
  assert.equal(report({}).reason, 'NoRules')
})

const USELESS: [string, object, RegExp][] = [
  [
    'a label that no server has',
    { servers: { matchLabels: { team: 'mial' } } },
    /^spec\.access\[0\]\.servers: .*no server/,
  ],
  [
    'a pattern that no tool matches',
    { tools: { allow: ['*', 'list_*'] } },
    /^spec\.access\[0\]\.tools\.allow\[1\]: "list_\*" of the rule "r"/,
  ],
  [
    'a name to deny that no tool has',
    { tools: { deny: ['delete_note', 'delte_note'] } },
    /^spec\.access\[0\]\.tools\.deny\[1\]: "delte_note"/,
  ],
  [
    'a prompt that no server has',
    { prompts: { allow: ['sumary'] } },
    /^spec\.access\[0\]\.prompts\.allow\[0\]: "sumary"/,
  ],
  [
    'a URI of servers without resources',
    { servers: { matchLabels: { team: 'notes' } }, resources: { allow: ['file:///docs/*'] } },
    /^spec\.access\[0\]\.resources\.allow\[0\]: /,
  ],
  [
    'a token that does not exist',
    { subjects: [{ kind: 'Token', name: 'other' }] },
    /^spec\.access\[0\]\.subjects\[0\]: .*no token "other"/,
  ],
  [
    'a ServiceAccount while none are admitted',
    { subjects: [{ kind: 'ServiceAccount', name: 'x' }] },
    /admits no ServiceAccounts/,
  ],
  [
    'a group while there is no issuer',
    { subjects: [{ kind: 'Group', name: 'dev' }] },
    /admits no JSON Web Tokens/,
  ],
]

for (const [what, rule, expected] of USELESS) {
  test(`a rule that names ${what} is reported with its field`, () => {
    const all = { name: 'all' }
    const found = report({ auth: TOKENS, access: [{ name: 'r', ...rule }, all] })
    assert.equal(found.reason, 'RuleMatchesNothing')
    assert.equal(found.status, 'False')
    assert.equal(found.lines.length, 1, found.lines.join('\n'))
    assert.match(found.lines[0] as string, expected)
  })
}

test('lists that are not read yet, URIs of templates, and patterns in deny are not reported', () => {
  const rules = [
    { name: 'a', tools: { allow: ['list_*', '*'], deny: ['drop_*'] } },
    { name: 'b', resources: { allow: ['mail:///1'] } },
  ]
  assert.deepEqual(report({ access: rules }, [NOTES]).lines, [])
  assert.deepEqual(report({ access: rules }, [NOTES]).rules[0], { name: 'a', servers: 2 })
  assert.equal(report({ access: rules }).lines.length, 1)
})

test('without spec.auth, subjects of rules match nobody', () => {
  assert.match(
    report({ access: [{ name: 'a', subjects: [{ kind: 'User', name: 'ada' }] }] }).message,
    /no spec\.auth/,
  )
})

test('a server whose tools nobody may use is reported', () => {
  const found = report({ access: [{ name: 'a', servers: { matchLabels: { team: 'notes' } } }] })
  assert.deepEqual([found.status, found.reason], ['False', 'ToolsUnreachable'])
  assert.match(found.message, /no rule grants any tool of mail: nobody/)
})

test("the gateway's upper limit is checked too, in bounded time for any number of names", () => {
  assert.match(
    report({ tools: { allow: ['gett_*'] } }).message,
    /^spec\.tools\.allow\[0\]: "gett_\*" of the gateway/,
  )
  const names = Array.from({ length: 20_000 }, (_, at) => `tool_${at}`)
  const patterns = Array.from({ length: 256 }, (_, at) => `other_${at}*`)
  const access = Array.from({ length: 64 }, (_, at) => ({ name: `r${at}`, tools: { allow: patterns } }))
  const begun = performance.now()
  const { findings } = report({ access }, [catalog('mail', { names }), catalog('notes', { names })])
  assert.ok(performance.now() - begun < 30_000)
  assert.equal(findings.length, 50)
})
