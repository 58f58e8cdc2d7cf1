/** Clients of both eras and servers of both eras on a laptop: questions go all the way from the process to the client and back. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '../core/log.ts'
import { legacyClient, modernClient } from '../test/support/answering-clients.ts'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { ANSWERS } from '../test/upstreams/asking/questions.ts'
import { until } from '../test/upstreams/rude/rude.ts'
import { startLocal } from './gateway.ts'

const KINDS = Object.keys(ANSWERS).join(' ')

test('a server’s questions reach the client through the gateway, in every cell, and what it shares asks nobody', async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  const asking = (file: string, ...args: string[]) =>
    scriptCommand(join('test/upstreams/asking', file), ...args)
  space.write('legacy', { ...asking('legacy.ts'), sessions: 'perClient' })
  space.write('modern', { ...asking('modern.ts', 'reject'), sessions: 'shared' })
  space.write('crowd', { ...asking('legacy.ts'), sessions: 'shared' })
  const gateway = await startLocal({
    paths: [space.folder],
    host: '127.0.0.1',
    port: 0,
    watch: false,
    cacheFolder: space.cache,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
    log: createLog({ level: 'silent' }),
    onProgress: () => {},
    onFindings: () => {},
  })
  t.after(() => gateway.close())
  assert.ok(await until(() => gateway.ready()))
  for (const connect of [legacyClient, modernClient]) {
    const { call, asked } = await connect(t, gateway.url)
    const execute = async (server: string, kinds: string) => {
      const args = { tool_path: `${server}:ask`, arguments: { kinds } }
      return JSON.parse(await call('execute_mcp_tool', args))
    }
    assert.deepEqual(await execute('legacy', KINDS), ANSWERS)
    assert.deepEqual(await execute('modern', KINDS), ANSWERS)
    assert.equal(asked.length, 8)
    assert.match((await execute('crowd', 'roots')).roots.failed, /roots/)
    assert.equal(asked.length, 8)
  }
})
