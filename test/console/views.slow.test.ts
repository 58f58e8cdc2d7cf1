/** What the console shows to callers whose rules hide a part of the gateway, and to those who run the gateway. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { ConsoleCall, ConsoleEvents, ConsoleTool } from '../../core/console/shapes.ts'
import { scriptCommand } from '../support/manifests.ts'
import { MCP_HEADERS, requestBody } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { startChanging } from '../upstreams/http/changing.ts'
import { violationsOf } from './axe.ts'
import { openBrowser, openPage, skipBrowser, visit } from './browser.ts'
import { type ConsoleGateway, startConsole } from './gateway.ts'

const PART = 'a-token-that-sees-a-part-of-the-gateway'
const ALL = 'a-token-that-sees-all-of-this-gateway-0'
const polite = scriptCommand('test/upstreams/rude/server.mjs', 'polite')
const RULES = `
apiVersion: portolan.dev/v1alpha1
kind: McpGateway
metadata: { name: gated }
spec:
  auth: { tokens: { secretName: jobs } }
  access:
    - { name: part, subjects: [{ kind: Token, name: part }], servers: { matchLabels: { part: one } }, tools: { allow: [echo] } }
    - { name: all, subjects: [{ kind: Token, name: boss }] }
---
apiVersion: v1
kind: Secret
metadata: { name: jobs }
stringData: { part: ${PART}, boss: ${ALL} }
---
apiVersion: portolan.dev/v1alpha1
kind: McpServer
metadata: { name: one, labels: { part: one } }
spec: ${JSON.stringify(polite)}
`

test('a caller who may use only a part of the gateway finds nothing of the rest in the console', async t => {
  const gateway = await startConsole({ other: polite }, {}, RULES)
  t.after(gateway.close)
  const ask = askAs(gateway, PART)
  await call(gateway, ALL, 'other:echo')
  await call(gateway, PART, 'one:echo')
  const tools = (await ask('tools')).body as ConsoleTool[]
  assert.deepEqual(
    tools.map(({ path }) => path),
    ['one:echo'],
  )
  assert.equal((await ask('tool?path=one:echo')).status, 200)
  for (const path of [
    'tool?path=other:echo',
    'tool?path=one:sleep',
    'stderr?server=one',
    'stderr?server=other',
    'manifest?server=one',
    'changes?server=one',
    'call?seq=1',
  ])
    assert.equal((await ask(path)).status, 404, path)
  assert.equal((await ask('call?seq=2')).status, 200)
  const { hits } = (await ask('search?query=echo&limit=50')).body as {
    hits: { server: string; tool: string }[]
  }
  assert.deepEqual(
    hits.map(({ server, tool }) => `${server}:${tool}`),
    ['one:echo'],
  )
  const { text, calls } = await firstEvents(gateway, PART)
  assert.deepEqual(
    calls.map(({ server }) => server),
    ['one'],
  )
  assert.doesNotMatch(text, /other|"whole":true,"(?!changed)/)
  assert.match(text, /"actions":\[\],"whole":false/)
  assert.equal(await restart(gateway, PART), 404)
})

test('without access rules a caller may use every tool, but sees no calls of others and restarts nothing', async t => {
  const open = RULES.replace(/ {2}access:\n(?: {4}- .*\n)+/, '')
  const gateway = await startConsole({ other: polite }, {}, open)
  t.after(gateway.close)
  const ask = askAs(gateway, PART)
  await call(gateway, ALL, 'other:echo')
  await call(gateway, PART, 'one:echo')
  assert.ok(((await ask('tools')).body as ConsoleTool[]).some(({ path }) => path === 'other:echo'))
  for (const path of ['stderr?server=one', 'manifest?server=one', 'call?seq=1'])
    assert.equal((await ask(path)).status, 404, path)
  const { text, calls } = await firstEvents(gateway, PART)
  assert.deepEqual(
    calls.map(({ server }) => server),
    ['one'],
  )
  assert.match(text, /"actions":\[\],"whole":false/)
  assert.equal(await restart(gateway, PART), 404)
})

test('the token with which the gateway was started shows everything', async t => {
  const gateway = await startConsole({ one: polite }, { token: ALL })
  t.after(gateway.close)
  await call(gateway, ALL, 'one:echo')
  assert.match((await firstEvents(gateway, ALL)).text, /"actions":\["wake".*"whole":true/)
  assert.equal((await askAs(gateway, ALL)('manifest?server=one')).status, 200)
  assert.equal(await restart(gateway, ALL), 200)
})

test('manifests are shown without the values of env', async t => {
  const env = [{ name: 'TOKEN', value: 'hush-hush' }]
  const gateway = await startConsole({ one: { ...polite, env } })
  t.after(gateway.close)
  const { yaml } = (await askAs(gateway)('manifest?server=one')).body as { yaml: string }
  assert.match(yaml, /name: TOKEN\n +value: \(hidden\)/)
  assert.doesNotMatch(yaml, /hush/)
})

test('changed tools can be approved after the page has shown what changed', {
  skip: skipBrowser(),
}, async t => {
  const server = await startChanging({ tools: { read: 'Reads a file', write: 'Writes a file' } })
  t.after(() => server.close())
  const gateway = await startConsole({ files: { remote: { url: server.url }, tools: { pin: 'Hold' } } })
  t.after(gateway.close)
  server.offer.tools = { read: 'Reads a file and sends it away', write: 'Writes a file' }
  const browser = await openBrowser()
  t.after(() => browser.close())
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/servers/files')
  await page.getByRole('button', { name: 'Read again' }).click()
  await page.getByRole('tab', { name: 'Changes' }).click()
  await page.locator('ins', { hasText: 'and sends it away' }).waitFor()
  assert.deepEqual(await violationsOf(page), [])
  await visit(page, gateway.base, '/overview')
  await page.getByText('ToolsChanged').waitFor()
  assert.equal(
    ((await askAs(gateway)('tools')).body as ConsoleTool[]).find(({ name }) => name === 'read')?.held,
    true,
  )
  await assertHeld(page, gateway.base, 'files:read')
  await visit(page, gateway.base, '/overview')
  await page.getByRole('link', { name: 'Review the changes and approve them.' }).click()
  await page.getByRole('button', { name: 'Approve exactly this' }).click()
  await page.getByRole('tab', { name: 'Changes' }).waitFor({ state: 'detached' })
  assert.equal(
    ((await askAs(gateway)('tools')).body as ConsoleTool[]).find(({ name }) => name === 'read')?.held,
    undefined,
  )
  await end()
})

test('after a login with another token the page shows nothing that only the previous caller may see', {
  skip: skipBrowser(),
}, async t => {
  const gateway = await startConsole({ other: polite }, { watch: true }, RULES)
  t.after(gateway.close)
  const browser = await openBrowser()
  t.after(() => browser.close())
  const { page } = await openPage(browser, gateway.base)
  const login = async (token: string) => {
    await page.getByLabel('Bearer token').fill(token)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('1 of 1 calls').waitFor()
    return page.locator('table.calls tbody').textContent()
  }
  await call(gateway, ALL, 'other:echo')
  await call(gateway, PART, 'one:echo')
  await visit(page, gateway.base, '/log')
  assert.match((await login(ALL)) ?? '', /other:echo/)
  writeFileSync(join(gateway.space.folder, 'more.yaml'), RULES.replace(ALL, `${ALL}1`))
  const ask = askAs(gateway, ALL)
  await until('the old token is refused', async () => (await ask('tools')).status === 401)
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
  assert.doesNotMatch((await login(PART)) ?? '', /other/)
  await page.getByRole('link', { name: 'Servers', exact: true }).click()
  await page.getByRole('link', { name: 'one', exact: true }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'other', exact: true }).count(), 0)
  await page.context().close()
})

function askAs({ base }: ConsoleGateway, token?: string) {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` }
  return async (path: string) => {
    const response = await fetch(`${base}console/${path}`, { headers })
    return { status: response.status, body: (await response.json()) as unknown }
  }
}

/** The status that an attempt to restart the server `one` is answered with. */
async function restart({ base }: ConsoleGateway, token: string): Promise<number> {
  const { origin } = new URL(base)
  const headers = { authorization: `Bearer ${token}`, origin, 'content-type': 'application/json' }
  const body = '{"action":"restart","server":"one"}'
  return (await fetch(`${base}console/action`, { method: 'POST', headers, body })).status
}

async function call({ url }: ConsoleGateway, token: string, path: string): Promise<void> {
  const headers = { ...MCP_HEADERS, authorization: `Bearer ${token}` }
  const params = { name: 'execute_mcp_tool', arguments: { tool_path: path, arguments: { text: 'ahoy' } } }
  assert.match(
    await (await fetch(url, { method: 'POST', headers, body: requestBody('tools/call', params) })).text(),
    /ahoy/,
  )
}

/** The first events that a page gets, up to the first that has calls. */
async function firstEvents(
  { base }: ConsoleGateway,
  token: string,
): Promise<{ text: string; calls: ConsoleCall[] }> {
  const stop = new AbortController()
  const response = await fetch(`${base}console/events`, {
    headers: { authorization: `Bearer ${token}` },
    signal: stop.signal,
  })
  let text = ''
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part
    const found = /event: calls\ndata: (.*)\n\n/.exec(text)
    if (!found) continue
    stop.abort()
    return { text, calls: (JSON.parse(found[1] ?? '') as ConsoleEvents['calls']).calls }
  }
  throw new Error('the stream ended')
}

/** The page of a held tool shows its definition, a search says that it is held, and it is not offered for a call. */
async function assertHeld(page: Page, base: string, path: string): Promise<void> {
  await visit(page, base, `/tools/${encodeURIComponent(path)}`)
  await page.getByText('It is held until its change is approved').waitFor()
  await page.getByText('and sends it away').first().waitFor()
  assert.equal(await page.getByRole('link', { name: 'Try it' }).count(), 0)
  await page.getByRole('link', { name: 'How it is found' }).click()
  await page.getByText('It is held until its change is approved').waitFor()
  await visit(page, base, '/try')
  await page.getByRole('button', { name: 'files:write' }).waitFor()
  assert.equal(await page.getByRole('button', { name: path }).count(), 0)
}
