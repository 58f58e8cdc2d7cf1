/** `portolan crds` against a real API server. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { type ApiServer, skipApiServer, startApiServer } from '../test/support/api-server.ts'

const skip = skipApiServer()
const MAIN = join(import.meta.dirname, 'main.ts')

let server: ApiServer
before(async () => {
  if (!skip) server = await startApiServer({ crds: false })
})
after(() => server?.stop())

async function portolan(args: string[], kubeconfig: string): Promise<string> {
  const node = ['--disable-warning=ExperimentalWarning', MAIN, ...args]
  const env = { ...process.env, KUBECONFIG: kubeconfig }
  return (await promisify(execFile)(process.execPath, node, { env })).stdout
}

test('crds apply installs the CRDs and waits until they are served; a second run changes nothing', {
  skip,
}, async () => {
  const versions = () =>
    server.kubectl([
      'get',
      'crds',
      '-o=jsonpath={range .items[*]}{.metadata.name}={.metadata.generation} {end}',
    ])

  const output = await portolan(['crds', 'apply'], server.kubeconfig)
  assert.equal(
    output,
    'mcpservers.portolan.dev established\nmcpgateways.portolan.dev established\nmcpscripts.portolan.dev established\n',
  )
  assert.equal(await server.kubectl(['get', 'mcpservers,mcpgateways,mcpscripts', '-A', '-o=name']), '')
  const first = await versions()
  await portolan(['crds', 'apply'], server.kubeconfig)
  assert.equal(await versions(), first)

  await assert.rejects(portolan(['crds', 'apply', '--context', 'none'], server.kubeconfig), {
    code: 1,
    stderr: /error: .*none/,
  })
})

test('crds prints YAML that kubectl accepts', { skip }, async () => {
  const printed = await portolan(['crds'], server.kubeconfig)
  const created = await server.kubectl(['create', '--dry-run=client', '--filename=-'], printed)
  assert.match(
    created,
    /mcpservers\.portolan\.dev created .*\n.*mcpgateways\.portolan\.dev created .*\n.*mcpscripts\.portolan\.dev created/,
  )
})
