/** `--as` on a laptop: what the caller sees, may do and is refused, with real processes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { connectSdkClient } from '../core/mcp/client/sdk-client.ts'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { runPortolan, startPortolan } from '../test/support/portolan.ts'

const RUDE = 'test/upstreams/rude/server.mjs'
/** Made for a cluster: on a laptop, nothing verifies tokens of ServiceAccounts. */
const GATEWAY = {
  apiVersion: 'portolan.dev/v1alpha1',
  kind: 'McpGateway',
  metadata: { name: 'tools' },
  spec: {
    auth: { serviceAccounts: { namespaces: ['agents'] } },
    access: [
      {
        name: 'triage',
        subjects: [{ kind: 'ServiceAccount', namespace: 'agents', name: 'triage' }],
        tools: { allow: ['echo'] },
      },
      { name: 'nobody', subjects: [{ kind: 'ServiceAccount', namespace: 'agents', name: 'other' }] },
    ],
  },
}

function portolan(cache: string, ...args: string[]) {
  return runPortolan(args, { PORTOLAN_CACHE: cache })
}

function newWorkspace(t: { after(run: () => void): void }) {
  const workspace = createWorkspace()
  t.after(workspace.remove)
  workspace.write('one', scriptCommand(RUDE, 'polite', `mark-${process.pid}-${Date.now()}`))
  writeFileSync(join(workspace.folder, 'gateway.json'), JSON.stringify(GATEWAY))
  return workspace
}

test('access lists what a caller may use, with the rule, also for a gateway that only a cluster can run', async t => {
  const { cache, folder } = newWorkspace(t)
  const triage = await portolan(cache, 'access', folder, '--as', 'sa:agents/triage')
  assert.equal(triage.code, 0, triage.stderr)
  assert.match(triage.stdout, /^one +tool +echo +triage$/m)
  assert.match(triage.stdout, /^sa:agents\/triage may use 1 of \d+ tools of gateway tools$/m)
  const other = await portolan(cache, 'access', folder, '--as', 'sa:elsewhere/triage', '-o', 'json')
  const { admitted, why, servers } = JSON.parse(other.stdout)
  assert.deepEqual([admitted, servers], [false, []])
  assert.match(why, /does not admit its namespace/)
})

test('call --as acts as that caller and cannot call tools that are hidden from it', async t => {
  const { cache, folder } = newWorkspace(t)
  const as = ['--as', 'serviceaccount:agents/triage']
  const echo = await portolan(cache, 'call', 'one:echo', '{"text":"ahoy"}', folder, ...as)
  assert.deepEqual([echo.code, echo.stdout.trim()], [0, 'ahoy'], echo.stderr)
  const hidden = await portolan(cache, 'call', 'one:change', '{}', folder, ...as)
  const absent = await portolan(cache, 'call', 'one:absent', '{}', folder, ...as)
  assert.deepEqual([hidden.code, hidden.stderr], [1, absent.stderr.replaceAll('absent', 'change')])
  const running = await portolan(cache, 'call', 'one:echo', '{}', ...as)
  assert.equal(running.code, 2)
  assert.match(running.stderr, /--as needs PATHs/)
})

test('requests without a token act as the caller of up --as, which is refused if others can reach the port', async t => {
  const { cache, folder } = newWorkspace(t)
  const refused = await portolan(cache, 'up', folder, '--host', '0.0.0.0', '--as', 'sa:agents/triage')
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /--as is for this machine alone/)
  const child = startPortolan(['up', folder, '--port', '0', '-o', 'json', '--as', 'sa:agents/triage'], {
    PORTOLAN_CACHE: cache,
  })
  const closed = once(child, 'close')
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url } = JSON.parse(line) as { url: string }
  const client = await connectSdkClient(url, AbortSignal.timeout(10_000))
  const result = await client.request(
    'tools/call',
    { name: 'discover_mcp_tools', arguments: { query: 'echo change' } },
    AbortSignal.timeout(10_000),
  )
  const text = JSON.stringify(result)
  assert.match(text, /one:echo/)
  assert.doesNotMatch(text, /one:change/)
  await client.close()
  child.kill('SIGTERM')
  await closed
})

test('if the gateway that a command starts requires a token, the error names PORTOLAN_TOKEN, which is then used', async t => {
  const { cache, folder } = newWorkspace(t)
  const tokens = { ...GATEWAY, spec: { auth: { tokens: { secretName: 'callers' } } } }
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'callers' },
    stringData: { ci: 'x'.repeat(40) },
  }
  writeFileSync(join(folder, 'gateway.json'), JSON.stringify(tokens))
  writeFileSync(join(folder, 'secret.json'), JSON.stringify(secret))
  const args = ['call', 'one:echo', '{"text":"ahoy"}', folder]
  const without = await portolan(cache, ...args)
  assert.match(without.stderr, /wants credentials \(401\): set PORTOLAN_TOKEN/)
  const child = startPortolan(args, { PORTOLAN_CACHE: cache, PORTOLAN_TOKEN: 'x'.repeat(40) })
  let stdout = ''
  child.stdout.on('data', text => (stdout += text))
  await once(child, 'close')
  assert.equal(stdout.trim(), 'ahoy')
})
