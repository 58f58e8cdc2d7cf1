/** Changes of manifests while a gateway starts. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway } from '../test/support/local-gateway.ts'
import { createWorkspace } from '../test/support/manifests.ts'
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
