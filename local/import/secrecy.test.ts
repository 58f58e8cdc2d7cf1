/** Recognition of secrets, and how imported manifests refer to those in arguments. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: client configs have such variables in plain strings
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importConfig } from './client-config.ts'
import { renderImported } from './render.ts'
import { looksSecret, secretIn } from './secrecy.ts'

const GITHUB = `ghp_${'a'.repeat(20)}`

function imported(entries: object) {
  const text = JSON.stringify({ mcpServers: entries })
  return importConfig(text, { file: '/home/ada/mcp.json', readEnvFile: () => ({}) })
}

test('secrets are recognised by name and by format', () => {
  const secret = [
    ['GITHUB_TOKEN', 'x'],
    ['x-api-key', 'x'],
    ['clientSecret', 'x'],
    ['Authorization', 'x'],
    ['URL', 'postgres://u:p@h/d'],
    ['URL', 'https://h/d?x=1&api_key=x'],
    ['A', GITHUB],
    ['A', 'sk_live_abcdefghijk1'],
    ['A', 'sk-abcdEfghijklmnop'],
  ]
  for (const [name = '', value = ''] of secret) assert.ok(looksSecret(name, value), value)
  for (const [name = '', value = ''] of [
    ['AUTHOR', 'ada'],
    ['KEYWORDS', 'a'],
    ['MONKEY', 'x'],
    ['URL', 'https://h/d?keyword=x&token='],
    ['TOKEN', ''],
    ['A', 'npm-registry-mcp-server'],
    ['A', 'ghost-mcp-server-extended'],
    ['A', 'skyscanner-mcp-server'],
    ['A', 'pk-something-mcp-server'],
  ]) {
    assert.ok(!looksSecret(name, value), value)
  }
})

test('the secret in an argument is separated from its flag, variable or header', () => {
  const found = (...args: string[]) => {
    const [previous, arg = ''] = args.length > 1 ? args : ['', ...args]
    const { before, value } = secretIn(arg, previous) ?? {}
    return value === undefined ? undefined : `${before}|${value}`
  }
  assert.equal(found('--api-key', 'x'), '|x')
  assert.equal(found('--token=x'), '--token=|x')
  assert.equal(found('--header', 'Authorization: Bearer sk'), 'Authorization: |Bearer sk')
  assert.equal(found('--header', 'X-Api-Key:x'), 'X-Api-Key:|x')
  assert.equal(found('--header=Authorization: x'), '--header=Authorization: |x')
  assert.equal(found('-e', `GITHUB_TOKEN=${GITHUB}`), `GITHUB_TOKEN=|${GITHUB}`)
  assert.equal(found('--env=GITHUB_TOKEN=x'), '--env=GITHUB_TOKEN=|x')
  assert.equal(found('--db=postgres://u:p@h/d'), '--db=|postgres://u:p@h/d')
  assert.equal(found('postgresql://u:p@h/d?token=x'), '|postgresql://u:p@h/d?token=x')
  assert.equal(found('mcp-remote', 'https://h/mcp?api_key=x'), '|https://h/mcp?api_key=x')
  const others = [
    ['--token', '--verbose'],
    ['-m', 'key'],
    ['--port', '80'],
    ['-e', 'GITHUB_TOKEN'],
  ]
  for (const args of [...others, ['-v', 'secret:/run/x'], ['auth:8080'], ['https://h/mcp']])
    assert.equal(found(...args), undefined, args.join(' '))
})

test('in a manifest, a secret in an argument becomes a variable from a Secret, with a name of its own', () => {
  const remote = ['mcp-remote', 'https://h/mcp', '--header', 'Authorization: Bearer sk-live']
  const { servers, secrets } = imported({
    remote: { command: 'npx', args: ['-y', ...remote] },
    docker: {
      command: 'docker',
      args: ['run', '-e', `GITHUB_TOKEN=${GITHUB}`, 'image', 'postgres://u:p@h/d'],
      env: { GITHUB_TOKEN: 'other', ARGUMENT: 'plain' },
    },
  })
  const ref = (server: string, name: string) => ({
    name,
    valueFrom: { secretKeyRef: { name: `${server}-secrets`, key: name } },
  })
  const [first, second] = servers.map(({ input }) => input.spec)
  assert.deepEqual(first?.npm?.args?.at(-1), 'Authorization: $(AUTHORIZATION)')
  assert.deepEqual(first?.env, [ref('remote', 'AUTHORIZATION')])
  const args = ['run', '-e', 'GITHUB_TOKEN=$(GITHUB_TOKEN_2)', 'image', '$(ARGUMENT_2)']
  assert.deepEqual(second?.command?.args, args)
  assert.deepEqual(second?.env?.slice(2), [ref('docker', 'GITHUB_TOKEN_2'), ref('docker', 'ARGUMENT_2')])
  assert.deepEqual(secrets['docker-secrets']?.ARGUMENT_2, [{ kind: 'text', text: 'postgres://u:p@h/d' }])
})

test('a secret after a flag that does not name one becomes a variable with a neutral name', () => {
  const variablesOf = (...args: string[]) => {
    const [server] = imported({ a: { command: 'my-mcp', args } }).servers
    return [server?.input.spec.command?.args?.join(' '), server?.input.spec.env?.map(({ name }) => name)]
  }
  const page = 'https://me:pw@git.example/x'
  assert.deepEqual(variablesOf('--path', page), ['--path $(ARGUMENT)', ['ARGUMENT']])
  assert.deepEqual(variablesOf(`--http-proxy=${page}`), ['--http-proxy=$(ARGUMENT)', ['ARGUMENT']])
  assert.deepEqual(variablesOf('--db-password', 'x'), ['--db-password $(DB_PASSWORD)', ['DB_PASSWORD']])
})

test('a secret beside a variable is noted, and the file names its server', () => {
  const KEY = 'sk-live-abcdefghijk1'
  const found = (args: string[]) => {
    const entry = { command: 'my-mcp', args, env: { PGHOST: 'db', SUFFIX: 'x' } }
    const config = imported({ pg: entry })
    const isNamed = renderImported(config).includes('# The arguments of pg still contain what looks like a')
    return { isNoted: config.notes.some(({ reason }) => reason === 'SecretInArgs'), isNamed }
  }
  const withSecret = [
    ['postgres://me:hunter2secret@${PGHOST}/db'],
    ['postgres://${USER}:hunter2secret@h/db'],
    ['--header', `Authorization: Bearer ${KEY}\${SUFFIX}`],
    ['--api-key', 'abc${SUFFIX}'],
    ['--token=${FIRST:-abc}${SUFFIX}'],
  ]
  for (const args of withSecret)
    assert.deepEqual(found(args), { isNoted: true, isNamed: true }, args.join(' '))
  const without = [
    ['postgres://${USER}:${PASSWORD}@${PGHOST}/db'],
    ['postgres://me:${PASSWORD}@h/db'],
    ['--header', 'Authorization: Bearer ${TOKEN}'],
    ['--header', 'Authorization:${TOKEN}'],
    ['--header', 'Cookie: session=${TOKEN}'],
    ['--api-key', '${SUFFIX}'],
    ['--token=${SUFFIX}'],
    ['https://h/mcp?api_key=${SUFFIX}'],
  ]
  for (const args of without)
    assert.deepEqual(found(args), { isNoted: false, isNamed: false }, args.join(' '))
})

test('what is no variable, such as `$(` alone, does not keep a secret in an argument', () => {
  for (const value of ['abc$(def', 'abc${def']) {
    const config = imported({ a: { command: 'my-mcp', args: [`--api-key=${value}`] } })
    assert.deepEqual(config.servers[0]?.input.spec.command?.args, ['--api-key=$(API_KEY)'])
    assert.deepEqual(config.secrets['a-secrets']?.API_KEY, [{ kind: 'text', text: value }])
  }
})

test('a file of manifests has no secret of an argument, and names the servers with one in their URL', () => {
  const config = imported({
    pg: { command: 'pg-mcp', args: ['postgres://me:hush@h/d'] },
    search: { url: 'https://h/mcp?api_key=hush2' },
    mixed: { url: 'https://${HOST}/mcp?api_key=hush3' },
    filled: { url: 'https://h/mcp?api_key=${KEY}' },
    plain: { url: 'https://h/mcp' },
  })
  const text = renderImported(config)
  assert.doesNotMatch(text, /hush@/)
  assert.match(text, /^# Values that look like secrets .*\n.*\n# The URL of search, mixed still contains /)
  assert.deepEqual(
    config.notes
      .filter(({ reason }) => reason.startsWith('SecretIn'))
      .map(({ reason, path }) => [reason, path]),
    [
      ['SecretInArgs', 'mcpServers.pg.args'],
      ['SecretInUrl', 'mcpServers.search.url'],
      ['SecretInUrl', 'mcpServers.mixed.url'],
    ],
  )
})
