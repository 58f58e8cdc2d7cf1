/** How clients are asked to log in: with a page to open, as their protocol version does that, or with a link in a text. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js'
import { legacyClient } from '../support/answering-clients.ts'
import { callAs } from './as-user.ts'
import { start } from './login-gateway.ts'

const ABOUT = { tool_path: 'notes:about', arguments: {} }

/** A gateway that has read the lists, and whose user has no login any more. */
async function startLoggedOut(t: TestContext) {
  const started = await start(t)
  await started.logIn()
  for (const file of started.kept()) rmSync(file)
  return { ...started, page: `${started.origin}/connect/notes` }
}

test('a 2025 client gets error −32042 with the page, and its call goes through after the login', async t => {
  const { gateway, page, logIn } = await startLoggedOut(t)
  const { call } = await legacyClient(t, gateway.url, { elicitation: { url: {} } })
  const refused = await call('execute_mcp_tool', ABOUT).then(assert.fail, (error: unknown) => error)
  assert.ok(refused instanceof UrlElicitationRequiredError)
  assert.equal(refused.code, -32042)
  assert.deepEqual(
    refused.elicitations.map(({ mode, url }) => [mode, url]),
    [['url', page]],
  )
  await logIn()
  assert.match(await call('execute_mcp_tool', ABOUT), /"notes":\[\]/)
})

test('a 2026 client is asked to open the page, and repeats its call automatically after the login', async t => {
  const { gateway, page, logIn } = await startLoggedOut(t)
  const client = new ModernClient(
    { name: 'person', version: '1' },
    {
      capabilities: { elicitation: { url: {} } },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  )
  t.after(() => client.close())
  const opened: unknown[] = []
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    opened.push(params.mode === 'url' && params.url)
    await logIn()
    return { action: 'accept' }
  })
  await client.connect(new ModernTransport(new URL(gateway.url)))
  const { content, isError } = await client.callTool({ name: 'execute_mcp_tool', arguments: ABOUT })
  assert.ok(!isError)
  assert.match(JSON.stringify(content), /notes/)
  assert.deepEqual(opened, [page])
})

test('clients that cannot open pages get the link in the text of the answer', async t => {
  const { gateway, origin, page } = await startLoggedOut(t)
  const { call } = await legacyClient(t, gateway.url, { elicitation: { form: {} } })
  const [inForms, inNothing] = [
    await call('execute_mcp_tool', ABOUT),
    await callAs(origin, undefined, 'notes:about'),
  ]
  assert.ok(inForms.endsWith(page), inForms)
  assert.ok(inNothing.isError && inNothing.text.endsWith(page), inNothing.text)
})
