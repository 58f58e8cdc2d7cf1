/** Changes of manifests while a gateway starts. */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway } from '../test/support/local-gateway.ts'
import { createWorkspace } from '../test/support/manifests.ts'
import { MCP_HEADERS, requestBody } from '../test/support/mcp.ts'
import { until } from '../test/support/until.ts'

test('a manifest that is written after the first read, but before files are watched, is read', async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  writeFileSync(join(space.folder, 'broken.yaml'), 'kind: McpServer\n  :')
  let isWritten = false
  // Called in the first read, because of the broken manifest.
  const onFindings = () => {
    if (!isWritten) space.write('late', { remote: { url: 'http://127.0.0.1:1/mcp' } })
    isWritten = true
  }
  const gateway = await startTestGateway(space, { watch: true, onFindings })
  t.after(() => gateway.close())
  await until('the new server', () => gateway.status().servers.some(({ name }) => name === 'late'))
})

test('a gateway stays locked while its manifest is away, and its changes are read once it is back', async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  space.write('far', { remote: { url: 'http://127.0.0.1:1/mcp' } })
  const [folder, away] = [join(space.folder, 'gateway'), join(space.folder, 'away')]
  const file = join(folder, 'gateway.yaml')
  const lock = (secretName: string) =>
    JSON.stringify({
      apiVersion: 'portolan.dev/v1alpha1',
      kind: 'McpGateway',
      metadata: { name: 'tools' },
      spec: { auth: { tokens: { secretName } } },
    })
  const token = 'a-token-of-32-characters-for-tests'
  for (const [name, me] of Object.entries({ callers: token, others: token.toUpperCase() })) {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { me } }
    writeFileSync(join(space.folder, `${name}.yaml`), JSON.stringify(secret))
  }
  mkdirSync(folder)
  writeFileSync(file, lock('callers'))
  const gateway = await startTestGateway(space, { watch: true, paths: [space.folder, file] })
  t.after(() => gateway.close())
  const status = async (sent?: string) => {
    const headers = { ...MCP_HEADERS, ...(sent && { authorization: `Bearer ${sent}` }) }
    const response = await fetch(gateway.url, {
      method: 'POST',
      headers,
      body: requestBody('tools/list', {}),
    })
    await response.body?.cancel()
    return response.status
  }
  assert.deepEqual([await status(), await status(token)], [401, 200])
  renameSync(folder, away)
  await until('the problem', () => gateway.status().problems.some(({ reason }) => reason === 'FileNotFound'))
  assert.deepEqual([await status(), await status(token)], [401, 200])
  renameSync(away, folder)
  await until('the end of the problem', () =>
    gateway.status().problems.every(({ reason }) => reason !== 'FileNotFound'),
  )
  assert.equal(await status(), 401)
  writeFileSync(file, lock('others'))
  await until('the new token', async () => (await status(token)) === 401)
  assert.equal(await status(), 401)
})
