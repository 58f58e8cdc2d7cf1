/** Conversion of client configs to manifests. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: client configs have such variables in plain strings
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEnvFile } from '../imported.ts'
import { importConfig, isClientConfig } from './client-config.ts'

const imported = (config: unknown, more: object = {}) =>
  importConfig(typeof config === 'string' ? config : JSON.stringify(config), {
    file: '/home/ada/mcp.json',
    readEnvFile,
    ...more,
  })

test('client configs, also broken ones, are distinguished from manifests and other files', () => {
  for (const text of [
    '{"mcpServers":{}}',
    '{"servers":{}, // c\n}',
    '\uFEFF{"mcp":{"servers":{}}}',
    '{"mcpServers":{"a":{"command":',
    '{"mcpServers":[]}',
  ]) {
    assert.ok(isClientConfig(text), text)
  }
  const others = [
    '',
    '[]',
    '{"name":"x"}',
    '{"apiVersion":"v1","servers":{}}',
    '{"servers":[{"url":"/"}]}',
    'apiVersion: v1',
    '['.repeat(50_000),
  ]
  for (const text of others) assert.ok(!isClientConfig(text), text.slice(0, 20))
})

test('a config without servers is valid, one without the table of servers is not', () => {
  assert.deepEqual(imported({ mcpServers: {} }).problems, [])
  assert.equal(imported({}).problems[0]?.reason, 'NoServers')
  assert.equal(imported('').problems[0]?.reason, 'InvalidJson')
  assert.equal(imported('['.repeat(50_000)).problems[0]?.reason, 'InvalidJson')
})

test('a broken entry does not affect others, and is reported with the name of its manifest', () => {
  const config = imported({ mcpServers: { 'My Bad': {}, good: { command: 'node' } } })
  assert.deepEqual(
    config.servers.map(({ manifest }) => manifest.metadata.name),
    ['good'],
  )
  assert.deepEqual(config.broken, ['my-bad'])
  assert.equal(imported('{"mcpServers": {').broken, undefined)
})

test('secrets and variables are not written into manifests, but returned as parts', () => {
  const entry = {
    command: 'node',
    env: { PLAIN: 'a', API_KEY: 'literal', FROM: '${env:OTHER}', MIXED: 'x-${input:id}', EMPTY_TOKEN: '' },
  }
  const { servers, secrets } = imported({ mcpServers: { a: entry } }, { lookup: () => undefined })
  const ref = (key: string) => ({ name: key, valueFrom: { secretKeyRef: { name: 'a-secrets', key } } })
  assert.deepEqual(servers[0]?.manifest.spec.env, [
    { name: 'PLAIN', value: 'a' },
    ref('API_KEY'),
    ref('FROM'),
    ref('MIXED'),
    { name: 'EMPTY_TOKEN', value: '' },
  ])
  assert.deepEqual(secrets, {
    'a-secrets': {
      API_KEY: [{ kind: 'text', text: 'literal' }],
      FROM: [{ kind: 'env', name: 'OTHER' }],
      MIXED: [
        { kind: 'text', text: 'x-' },
        { kind: 'input', id: 'id' },
      ],
    },
  })
})

test('variables in arguments are replaced with a lookup; without one they are kept or get their default, with a note', () => {
  const config = { mcpServers: { a: { command: 'node', args: ['${env:DIR}/x', '${NONE:-d}'] } } }
  const running = imported(config, {
    lookup: ({ name }: { name?: string }) => (name === 'DIR' ? '/srv' : undefined),
  })
  assert.deepEqual(running.servers[0]?.manifest.spec.command?.args, ['/srv/x', 'd'])
  const written = imported(config)
  assert.deepEqual(written.servers[0]?.manifest.spec.command?.args, ['${DIR}/x', 'd'])
  assert.deepEqual(
    written.notes.map(({ reason }) => reason),
    ['VariableKept', 'DefaultUsed'],
  )
})

test('a variable in an argument that only the `env` of its entry sets is filled in when the server starts', () => {
  const args = ['mcp-remote', 'https://h/mcp', '--header', 'Authorization:${AUTH}', '${DIR}']
  const mcpServers = { a: { command: 'npx', args, env: { AUTH: 'Bearer x', DIR: '/mine', NONE: null } } }
  const lookup = ({ name }: { name?: string }) => (name === 'DIR' ? '/srv' : undefined)
  const running = imported({ mcpServers }, { lookup })
  assert.deepEqual(running.problems, [])
  assert.deepEqual(running.servers[0]?.manifest.spec.npm?.args.slice(2), ['Authorization:$(AUTH)', '/srv'])
  const written = imported({ mcpServers })
  assert.deepEqual(written.servers[0]?.manifest.spec.npm?.args.slice(2), ['Authorization:$(AUTH)', '$(DIR)'])
  assert.deepEqual(written.notes, [])
  const none = { a: { command: 'x', args: ['${NONE}'], env: { NONE: null } } }
  assert.equal(imported({ mcpServers: none }, { lookup }).problems[0]?.reason, 'VariableUnset')
})

test("paths in an editor's config are relative to the parent of its folder", () => {
  const folderOf = (file: string) => importConfig('{"servers":{}}', { file, readEnvFile }).folder
  assert.equal(folderOf('/p/.vscode/mcp.json'), '/p')
  assert.equal(folderOf('/p/mcp.json'), '/p')
  assert.equal(folderOf('.mcp.json'), '.')
})

test('a variable of the file of variables counts unless `env` sets it', () => {
  const entry = { command: 'node', envFile: '.env', env: { A: '${X}', B: null } }
  const files = {
    readEnvFile: () => ({ A: 'file', B: 'file', constructor: 'file' }) as Record<string, string>,
  }
  const { servers, secrets } = imported({ mcpServers: { a: entry } }, files)
  assert.deepEqual(
    servers[0]?.manifest.spec.env.map(({ name }) => name),
    ['B', 'constructor', 'A'],
  )
  assert.deepEqual(secrets['a-secrets']?.A, [{ kind: 'env', name: 'X' }])
})

test('names that differ only in characters that a key cannot have get keys of their own', () => {
  const headers = { X$Key: '${ONE}', X_Key: '${TWO}', 'X!Key': '${THREE}' }
  const { servers, secrets } = imported({ mcpServers: { a: { url: 'https://x.org/mcp', headers } } })
  const given = servers[0]?.manifest.spec.headers.map(({ name, valueFrom }) => [
    name,
    secrets['a-secrets']?.[valueFrom?.secretKeyRef?.key ?? ''],
  ])
  const variable = (name: string) => [{ kind: 'env', name }]
  assert.partialDeepStrictEqual(given, [
    ['X$Key', variable('ONE')],
    ['X_Key', variable('TWO')],
    ['X!Key', variable('THREE')],
  ])
})
