/** `portolan check` of reviewed scripts, and a laptop that serves one: syntax, tools that exist, and gateways without code mode. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createWorkspace } from '../test/support/manifests.ts'

const API = 'apiVersion: portolan.dev/v1alpha1'
const SERVER = `${API}
kind: McpServer
metadata: { name: rude }
spec: { command: { run: node, args: [${JSON.stringify(join(import.meta.dirname, '../test/upstreams/rude/server.mjs'))}] } }
`
const gateway = (enabled: boolean) => `${API}
kind: McpGateway
metadata: { name: tools }
spec: { code: { enabled: ${enabled} } }
`
const script = (code: string, name = 'twice') => `${API}
kind: McpScript
metadata: { name: ${name} }
spec:
  description: Says a word twice
  inputSchema: { type: object, properties: { word: { type: string } }, required: [word] }
  code: ${JSON.stringify(code)}
`
const GOOD = 'const { word } = input\nreturn [await tools.rude.echo({ text: word }), word]'

test('check reports what is wrong with a script, and a laptop serves a valid one as a tool', t => {
  const { folder, cache, remove } = createWorkspace()
  t.after(remove)
  const portolan = (...args: string[]) => {
    const node = ['--disable-warning=ExperimentalWarning', 'cli/main.ts', ...args]
    const env = { ...process.env, PORTOLAN_CACHE: cache }
    const { status, stdout, stderr } = spawnSync(process.execPath, node, { env, encoding: 'utf8' })
    return { status, stdout, stderr }
  }
  const write = (code: string, enabled = true) =>
    writeFileSync(join(folder, 'all.yaml'), [SERVER, gateway(enabled), script(code)].join('---\n'))

  write(GOOD)
  assert.match(portolan('check', folder).stdout, /1 server and 1 script in 1 file, no problems/)
  const called = portolan('call', 'scripts:twice', '{"word": "ahoy"}', folder)
  assert.equal(called.status, 0, called.stderr)
  assert.match(called.stdout, /\["ahoy","ahoy"\]/)

  const rules = gateway(true).replace(
    '} }',
    '}, access: [{ name: a, servers: { matchLabels: { a: b } } }, { name: b, servers: {}, tools: { allow: [tw*] } }] }',
  )
  writeFileSync(join(folder, 'all.yaml'), [SERVER, rules, script(GOOD)].join('---\n'))
  assert.match(portolan('can', 'call', 'scripts:twice', folder, '--as', 'token:a').stdout, /granted by b$/m)

  // The call above has cached the list of tools of rude, with which `check` compares.
  writeFileSync(
    join(folder, 'all.yaml'),
    [
      SERVER,
      gateway(true),
      script('return tools.rude.ecco({})', 'misspelt'),
      script('return tools.tracker.list({})', 'lost'),
      script('return 1\nconst = 2', 'broken'),
    ].join('---\n'),
  )
  const wrong = portolan('check', folder)
  assert.equal(wrong.status, 1)
  assert.match(wrong.stderr, /all\.yaml:\d+.*misspelt: calls rude:ecco, and no server/)
  for (const { stderr } of [wrong, portolan('check', '--cluster', folder)]) {
    assert.match(stderr, /lost: calls tracker:list, and no server/)
    assert.match(stderr, /broken: is no script that runs: line 2 of the code/)
  }
  write(GOOD, false)
  assert.match(portolan('check', folder).stderr, /twice: McpGateway tools runs no scripts/)
})

test('check --cluster reports a script that no gateway can run once, however many gateways select it', t => {
  const { folder, remove } = createWorkspace()
  t.after(remove)
  const node = ['--disable-warning=ExperimentalWarning', 'cli/main.ts', 'check', '--cluster', folder]
  for (const gateways of [[], ['one'], ['one', 'two']]) {
    const documents = [
      script('return 1\nconst = 2', 'broken'),
      ...gateways.map(name => gateway(true).replace('tools', name)),
    ]
    writeFileSync(join(folder, 'all.yaml'), documents.join('---\n'))
    const { status, stderr } = spawnSync(process.execPath, node, { encoding: 'utf8' })
    assert.equal(status, 1, stderr)
    assert.equal(stderr.split('broken: is no script that runs').length - 1, 1, stderr)
  }
})
