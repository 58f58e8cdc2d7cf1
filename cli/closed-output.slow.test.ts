/** Commands whose standard output or standard error is closed, as by `head`. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../test/support/free-port.ts'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { callTool } from '../test/support/mcp.ts'
import { startPortolan } from '../test/support/portolan.ts'
import { until } from '../test/support/until.ts'

const HEAD = 'apiVersion: portolan.dev/v1alpha1\nmetadata: { name: one }\n'

test('a command whose output nobody reads ends with its own exit code', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  writeFileSync(join(space.folder, 'bad.yaml'), `${HEAD}kind: McpServer\nspec:\n  tittle: x\n`)
  const check = startPortolan(['check', space.folder, '-o', 'json'])
  check.stdout.destroy()
  assert.deepEqual(await once(check, 'exit'), [1, null])
  const wrong = startPortolan(['sail'])
  wrong.stderr.destroy()
  assert.deepEqual(await once(wrong, 'exit'), [2, null])
})

test('a gateway outlives the reader of its audit lines', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  writeFileSync(
    join(space.folder, 'gateway.yaml'),
    `${HEAD}kind: McpGateway\nspec: { audit: { events: [Calls] } }\n`,
  )
  space.write('two', scriptCommand('test/upstreams/rude/server.mjs', 'polite'))
  const port = await freePort()
  const env = { PORTOLAN_CACHE: space.cache, KUBECONFIG: join(space.cache, 'no-kubeconfig') }
  const up = startPortolan(['up', space.folder, '--port', `${port}`], env)
  up.stdout.destroy()
  up.stderr.resume()
  const exited = once(up, 'exit')
  const origin = `http://127.0.0.1:${port}`
  const call = () => callTool(`${origin}/mcp`, 'execute_mcp_tool', { tool_path: 'two:pid', arguments: {} })
  const state = await until('an audit line is lost', async () => {
    if (up.exitCode !== null) return 'ended'
    await call()
    const metrics = await (await fetch(`${origin}/metrics`)).text()
    return /^portolan_audit_lines_lost_total\S* [1-9]/m.test(metrics) && 'lost'
  })
  assert.equal(state, 'lost')
  assert.ok(await call())
  up.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
})
