/** Detection of servers that are this gateway itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseManifest } from '../crds/parse.ts'
import { isOurselves } from './own-address.ts'

const OWN = { host: '127.0.0.1', port: 8080 }
const URL = 'http://localhost:8080/mcp'

function leadsBack(spec: object): boolean {
  const head = { apiVersion: 'portolan.dev/v1alpha1', kind: 'McpServer', metadata: { name: 'a' } }
  const { manifest, problems } = parseManifest({ ...head, spec })
  assert.ok(manifest?.kind === 'McpServer', JSON.stringify(problems))
  return isOurselves(OWN, manifest)
}

test('a server is this gateway if its URL, or the URL given to mcp-remote, leads to it', () => {
  const own = [
    { remote: { url: URL } },
    { npm: { package: 'mcp-remote', args: [URL] } },
    { npm: { package: 'mcp-remote', args: ['--allow-http', 'http://127.0.0.1:8080/mcp/search'] } },
    { command: { run: 'npx', args: ['-y', 'mcp-remote@^0.1', URL] } },
    { command: { run: '/opt/bin/mcp-remote', args: [URL] } },
    { command: { run: 'docker', args: ['run', '-i', 'node', 'npx', 'mcp-remote@latest', URL] } },
  ]
  for (const spec of own) assert.ok(leadsBack(spec), JSON.stringify(spec))
  const others = [
    { remote: { url: 'http://localhost:8081/mcp' } },
    { npm: { package: 'mcp-remote', args: ['https://example.com:8080/mcp'] } },
    { npm: { package: 'mcp-remote', args: ['http://localhost/mcp', '8080'] } },
    { npm: { package: 'load-test', args: [URL] } },
    { command: { run: 'my-mcp-remote-tester', args: [URL] } },
  ]
  for (const spec of others) assert.ok(!leadsBack(spec), JSON.stringify(spec))
})
