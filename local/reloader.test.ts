/** A local gateway with a broken McpGateway manifest never serves without the access rules that the manifest may contain. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../test/support/manual-clock.ts'
import { ManifestFiles } from './files.ts'
import type { Reading } from './read.ts'
import { Reloader } from './reloader.ts'

const SERVER =
  'apiVersion: portolan.dev/v1alpha1\nkind: McpServer\nmetadata: { name: one }\nspec:\n  command: { run: echo }\n'
const gateway = (spec: string, kind = 'McpGateway') =>
  `apiVersion: portolan.dev/v1alpha1\nkind: ${kind}\nmetadata: { name: tools }\nspec: ${spec}\n`
const GOOD = gateway('{ auth: { tokens: { secretName: callers } } }')

const BROKEN: Record<string, string> = {
  'an unknown field': gateway('{ auht: { tokens: { secretName: callers } } }'),
  'no valid YAML': gateway('{ auth: { tokens: { secretName: callers }'),
  'a mistyped kind': gateway('{ auth: { tokens: { secretName: callers } } }', 'McpGatway'),
  'no kind': 'apiVersion: portolan.dev/v1alpha1\nmetadata: { name: tools }\nspec:\n  access: [{ name: x }]\n',
  'an old version': GOOD.replace('v1alpha1', 'v1'),
}

function watch(t: TestContext, given?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-reloader-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'server.yaml'), SERVER)
  const readings: Reading[] = []
  let onRead = () => {}
  const reloader = new Reloader({
    files: new ManifestFiles([folder]),
    env: {},
    gateway: given,
    digestKey: randomBytes(32),
    clock: createManualClock(0),
    onRead: reading => {
      readings.push(reading)
      onRead()
    },
    onFindings: () => {},
  })
  const write = (text: string, name = 'gateway.yaml') => {
    writeFileSync(join(folder, name), text)
    return reloader.reload()
  }
  const remove = (name: string) => {
    rmSync(join(folder, name))
    return reloader.reload()
  }
  return {
    write,
    remove,
    served: () => readings.at(-1)?.desired,
    count: () => readings.length,
    onRead: (run: () => void) => {
      onRead = run
    },
  }
}

for (const [what, text] of Object.entries(BROKEN)) {
  test(`an McpGateway with ${what} is refused at the start, with its file and the reason`, async t => {
    const { write, count } = watch(t)
    await assert.rejects(write(text), /gateway\.yaml:\d+ cannot be used: .+ so nothing is served/)
    assert.equal(count(), 0)
  })
}

test('a broken gateway is also refused if there is a valid one, unless the valid one is chosen by name', async t => {
  const other = gateway('{}').replace('tools', 'other')
  const { write } = watch(t)
  await write(other, 'other.yaml')
  const both = `${other}---\n${BROKEN['an unknown field']}`
  await assert.rejects(watch(t).write(both), /cannot be used/)
  const chosen = watch(t, 'other')
  await chosen.write(both)
  assert.equal(chosen.served()?.gateway?.metadata.name, 'other')
})

test('a gateway whose manifest breaks keeps its last valid state, and a broken server affects no other', async t => {
  const { write, served } = watch(t)
  await write(GOOD)
  await write(BROKEN['an unknown field'] as string)
  assert.equal(served()?.gateway?.spec.auth?.tokens?.secretName, 'callers')
  await watch(t).write(SERVER.replace('command', 'comand'), 'other.yaml')
})

test('a gateway whose manifest disappears from a folder is kept, with a problem, until there is another one', async t => {
  const { write, remove, served } = watch(t)
  await write(GOOD)
  for (const disappear of [() => write(''), () => remove('gateway.yaml')]) {
    await disappear()
    assert.equal(served()?.gateway?.spec.auth?.tokens?.secretName, 'callers')
    assert.deepEqual(
      served()?.problems.map(({ message }) => message),
      ['the McpGateway "tools" is gone: its last state is kept until the gateway is restarted'],
    )
  }
  await write(gateway('{}').replace('tools', 'other'))
  assert.deepEqual([served()?.gateway?.metadata.name, served()?.problems], ['other', []])
})

test('a change that comes just as a read ends is read too', async t => {
  const { write, served, onRead } = watch(t)
  let late: Promise<void> | undefined
  onRead(() => {
    // Runs after the last read has ended, and before its callers know.
    late ??= Promise.resolve().then(() => write(gateway('{ auth: { tokens: { secretName: late } } }')))
  })
  await write(GOOD)
  await late
  assert.equal(served()?.gateway?.spec.auth?.tokens?.secretName, 'late')
})
