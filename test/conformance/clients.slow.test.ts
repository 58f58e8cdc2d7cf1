/** Third-party clients: the Python SDK of both eras, and the inspector's command line in all of its eras. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type InspectorEra, inspect } from '../support/inspector.ts'
import { createWorkspace } from '../support/manifests.ts'
import { type Gateway, startGateway } from '../support/processes.ts'
import { pythonWith } from '../support/python-client.ts'
import { run } from '../support/run.ts'
import { type HttpFixture, startHttpFixture } from './fixture/http.ts'
import { PYTHONS } from './pythons.ts'

const LEVELS = ['--method', 'logging/setLevel', '--log-level', 'debug']
const space = createWorkspace()
const fixtures: HttpFixture[] = []
let gateway: Gateway

before(async () => {
  for (const era of ['legacy', 'modern'] as const) {
    const fixture = await startHttpFixture({ era })
    fixtures.push(fixture)
    space.write(era, { remote: { url: fixture.url } })
  }
  const args = ['--servers', '--profile', 'direct']
  gateway = await startGateway([space.folder], { cache: space.cache, args })
})
after(async () => {
  await gateway?.stop()
  await Promise.all(fixtures.map(fixture => fixture.close()))
  space.remove()
})

for (const { requirement, script, mode, protocol } of PYTHONS) {
  for (const upstream of ['legacy', 'modern']) {
    test(`the Python client ${requirement} in ${protocol} lists, calls, gets progress and questions of a ${upstream} server`, async t => {
      const python = await pythonWith(requirement)
      if (!python) return t.skip(`neither uv nor python3 could install ${requirement}`)
      const program = join(import.meta.dirname, '..', 'clients', 'python', script)
      const url = `${gateway.url}/servers/${upstream}/mcp`
      const { code, stdout, stderr } = await run(python, [program, url, mode], { limitMs: 60_000 })
      assert.equal(code, 0, stderr)
      const { tools, ...seen } = JSON.parse(stdout)
      assert.ok(tools.includes('test_simple_text'))
      assert.deepEqual(seen, {
        protocol,
        resources: 3,
        texts: ['Hello, Ada!', 'Paris'],
        asked: ['What is your name?', 'What is the capital of France?'],
        progress: [0, 50, 100],
      })
    })
  }
}

const ROUTES = [
  {
    route: '/mcp',
    tool: 'modern__test_simple_text',
    prompt: 'modern__test_simple_prompt',
    uri: 'modern+test://static-text',
  },
  {
    route: '/servers/legacy/mcp',
    tool: 'test_simple_text',
    prompt: 'test_simple_prompt',
    uri: 'test://static-text',
  },
]

for (const era of ['legacy', 'auto', 'modern'] as const) {
  for (const { route, tool, prompt, uri } of ROUTES) {
    test(`the inspector in era ${era} lists valid tools, calls one, reads a resource and gets a prompt at ${route}`, async () => {
      const said = (...args: string[]) => inspected(`${gateway.url}${route}`, era, args)
      assert.match(await said('--method', 'tools/list', '--strict'), new RegExp(`"${tool}"`))
      assert.match(await said('--method', 'tools/call', '--tool-name', tool), /simple text response/)
      assert.match(await said('--method', 'resources/list'), /static-text/)
      assert.match(await said('--method', 'resources/read', '--uri', uri), /static text resource/)
      assert.match(await said('--method', 'prompts/list'), new RegExp(`"${prompt}"`))
      assert.match(await said('--method', 'prompts/get', '--prompt-name', prompt), /simple prompt/)
      if (era === 'legacy') await said(...LEVELS)
    })
  }
}

async function inspected(url: string, era: InspectorEra, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await inspect(url, era, args)
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  return stdout
}
