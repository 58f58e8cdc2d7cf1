/** The console as it is used: by keyboard, with servers that crash and ask, with a gateway that stops and starts again, with a token. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { freePort } from '../support/free-port.ts'
import { scriptCommand } from '../support/manifests.ts'
import { callTool } from '../support/mcp.ts'
import { violationsOf } from './axe.ts'
import { openBrowser, openPage, skipBrowser, visit } from './browser.ts'
import { startConsole } from './gateway.ts'

const skip = skipBrowser()
const RUDE = 'test/upstreams/rude/server.mjs'
const ECHO = { tool_path: 'polite:echo', arguments: { text: 'ahoy' } }

/** Runs before the page: what browsers can refuse. */
const BLOCK = `for (const name of ['localStorage', 'sessionStorage'])
  Object.defineProperty(window, name, { get() { throw new DOMException('blocked', 'SecurityError') } })
Object.defineProperty(navigator, 'clipboard', { value: undefined })
history.replaceState = () => { throw new DOMException('too often', 'SecurityError') }`
/** So that there is the page of scripts, which keeps the script. */
const CODE_MODE = `
apiVersion: portolan.dev/v1alpha1
kind: McpGateway
metadata: { name: scripted }
spec: { code: { enabled: true } }`

let browser: Browser
before(async () => {
  if (!skip) browser = await openBrowser()
})
after(() => browser?.close())

const result = (page: Page) => page.locator('section[aria-labelledby=result]')

async function reach(page: Page, name: string): Promise<void> {
  for (let times = 0; times < 60; times++) {
    await page.keyboard.press('Tab')
    const label = await page.evaluate(
      '(document.activeElement.getAttribute("aria-label") ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent).trim()',
    )
    if (String(label).startsWith(name)) return
  }
  throw new Error(`nothing called ${name} is reached by Tab`)
}

test('a tool can be found, its form filled in and the tool called with the keyboard only', {
  skip,
}, async t => {
  const gateway = await startConsole()
  t.after(gateway.close)
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/overview')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content')
  await reach(page, 'Try')
  await page.keyboard.press('Enter')
  await page.locator('.picker input:focus').waitFor()
  await page.keyboard.type('echo')
  await page.locator('.offered button').first().waitFor()
  await reach(page, 'polite:echo')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Call', exact: true }).waitFor()
  await reach(page, 'text')
  await page.keyboard.type('ahoy')
  await page.keyboard.press('Enter')
  await page.locator('.answer pre').waitFor()
  assert.match((await page.locator('.answer').textContent()) ?? '', /ahoy/)
  await page.getByText(/router .* ms · server/).waitFor()
  await end()
})

test('with the keyboard only, part of the path of a tool is enough to see why a search did not find it', {
  skip,
}, async t => {
  const gateway = await startConsole()
  t.after(gateway.close)
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/overview')
  await page.keyboard.press('Control+k')
  await page.locator('input.query:focus').waitFor()
  await page.keyboard.type('wait for a moment')
  await page.locator('.whynot').waitFor()
  await reach(page, 'Why not')
  await page.keyboard.type('echo')
  // After the first letters other tools are offered, too: Tab would reach one that the next letter removes.
  const only = page.locator('.whynot .offered li:only-child')
  await only.getByRole('button', { name: 'polite:echo', exact: true }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.locator('.whynot p', { hasText: /^It is (?:found|not among|number)/ }).waitFor()
  assert.deepEqual(await violationsOf(page), [])
  await end()
})

test('a server that crashes while its page is open shows its state, the reason and its log', {
  skip,
}, async t => {
  const gateway = await startConsole({ dying: { ...scriptCommand(RUDE), scaling: { min: 1 } } })
  t.after(gateway.close)
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/servers/dying')
  await page.locator('header .state.ready').waitFor()
  const dies = { tool_path: 'dying:die', arguments: { code: 7, last: 'out of ink' } }
  // After the first crash it is started again at once, after later ones with longer and longer delays, during which the page shows the problem.
  for (let crashes = 0; crashes < 4; crashes++) await callTool(gateway.url, 'execute_mcp_tool', dies)
  await page.locator('header .problem', { hasText: 'out of ink' }).waitFor()
  await page.getByText(/\d changes; last at/).waitFor()
  await page.getByRole('tab', { name: 'Log' }).click()
  await page.locator('pre.lines', { hasText: 'out of ink' }).waitFor()
  await visit(page, gateway.base, '/log?outcome=errors')
  await page.getByText('upstream_died').first().waitFor()
  await end()
})

test('while the event stream is interrupted the calls stay on the page, and afterwards none is there twice', {
  skip,
}, async t => {
  const port = await freePort()
  const first = await startConsole(undefined, { port })
  const { page } = await openPage(browser, first.base)
  await visit(page, first.base, '/log?server=polite')
  await callTool(first.url, 'execute_mcp_tool', ECHO)
  await page.locator('table.calls tbody tr').first().waitFor()
  await page.evaluate(
    'Object.defineProperty(document, "hidden", { value: true, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))',
  )
  await callTool(first.url, 'execute_mcp_tool', ECHO)
  await page.evaluate(
    'Object.defineProperty(document, "hidden", { value: false }); document.dispatchEvent(new Event("visibilitychange"))',
  )
  await page.getByText('2 of 2 calls').waitFor()
  await first.close()
  await page.getByText(/Disconnected since/).waitFor()
  assert.equal(await page.locator('table.calls tbody tr').count(), 2)
  const second = await startConsole(undefined, { port })
  t.after(second.close)
  await page.getByText('ready', { exact: true }).waitFor()
  await callTool(second.url, 'execute_mcp_tool', ECHO)
  await page.getByText('1 of 1 calls').waitFor()
  await page.reload({ waitUntil: 'domcontentloaded' })
  await page.getByText('1 of 1 calls').waitFor()
  assert.match(page.url(), /#\/log\?server=polite/)
  await page.context().close()
})

test('a question of a server is shown as a form, and the answer reaches the server', { skip }, async t => {
  const gateway = await startConsole({ asking: scriptCommand('test/upstreams/asking/modern.ts') })
  t.after(gateway.close)
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, `/try/asking%3Aask?args=${encodeURIComponent('{"kinds":"form"}')}`)
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.getByText('Your name?').waitFor()
  assert.deepEqual(await violationsOf(page), [])
  await result(page).getByLabel(/^name/).fill('Ann')
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.locator('.answer').waitFor()
  assert.match((await page.locator('.answer').textContent()) ?? '', /accept.*Ann/s)
  await end()
})

test('a destructive tool is called only after a second click', { skip }, async t => {
  const gateway = await startConsole({ sharp: scriptCommand(RUDE, 'destructive') })
  t.after(gateway.close)
  const { page, end } = await openPage(browser, gateway.base)
  const args = encodeURIComponent('{"text":"ahoy"}')
  await visit(page, gateway.base, `/try/sharp%3Aecho?args=${args}`)
  const call = page.getByRole('button', { name: 'Call', exact: true })
  const asked = page.getByRole('alertdialog', { name: 'Destructive tool' })
  await call.click()
  await asked.waitFor()
  assert.deepEqual(await violationsOf(page), [])
  await asked.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('The tool has not been called yet.').waitFor()
  await call.click()
  await asked.getByRole('button', { name: 'Call it' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Enter')
  await page.locator('.answer', { hasText: 'ahoy' }).waitFor()
  await visit(page, gateway.base, '/log')
  await page.getByText('1 of 1 calls').waitFor()
  await end()
})

test('Restart starts a new process, and Read again reads the list without starting one', {
  skip,
}, async t => {
  const gateway = await startConsole({ asking: scriptCommand('test/upstreams/asking/modern.ts') })
  t.after(gateway.close)
  const pid = async () =>
    (await callTool(gateway.url, 'execute_mcp_tool', { tool_path: 'asking:pid', arguments: {} })).content[0]
      ?.text
  const before = await pid()
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/servers/asking')
  await page.getByRole('button', { name: 'Restart' }).click()
  await page.locator('header .state.ready').waitFor()
  await page.getByRole('button', { name: 'Restart' }).and(page.locator(':enabled')).waitFor()
  const next = await pid()
  assert.ok(next !== before && /^\d+$/.test(next ?? ''))
  await page.getByRole('button', { name: 'Read again' }).click()
  await page.getByText(/list read [1-9] s ago/).waitFor()
  assert.equal(await pid(), next)
  await end()
})

test('if the gateway requires a token, the page asks for it and stores it nowhere', { skip }, async t => {
  const token = 'a-token-of-more-than-32-characters-0'
  const gateway = await startConsole(undefined, { token })
  t.after(gateway.close)
  const { page, wrong } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/servers')
  assert.deepEqual(await violationsOf(page), [])
  await page.getByLabel('Bearer token').fill('wrong-token-of-more-than-32-characters')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  await page.getByLabel('Bearer token').fill(token)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('link', { name: 'polite', exact: true }).waitFor()
  await visit(page, gateway.base, '/try/polite%3Aecho')
  const kept = await page.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
  )
  assert.doesNotMatch(String(kept), /a-token/)
  await page.reload({ waitUntil: 'domcontentloaded' })
  await page.getByLabel('Bearer token').waitFor()
  // The browser notes each 401 as an error.
  assert.deepEqual(
    wrong.filter(one => !one.includes('401')),
    [],
  )
  await page.context().close()
})

test('if the browser blocks storage and the clipboard, the page works, and says that it cannot copy', {
  skip,
}, async t => {
  const gateway = await startConsole(undefined, {}, CODE_MODE)
  t.after(gateway.close)
  const { page, end } = await openPage(browser, gateway.base)
  await page.addInitScript({ content: BLOCK })
  await visit(page, gateway.base, '/try/polite%3Aecho')
  await page.getByRole('button', { name: 'Copy as command' }).click()
  await page.getByRole('button', { name: 'The browser does not allow it' }).waitFor()
  await page.getByRole('button', { name: 'Copy as command' }).waitFor()
  await visit(page, gateway.base, '/script')
  await page.getByRole('button', { name: 'Run' }).waitFor()
  await visit(page, gateway.base, '/search')
  await page.getByLabel('Query', { exact: true }).fill('echo')
  await page.getByRole('region', { name: 'Answer: echo' }).waitFor()
  await end()
})

test('a space at the end of a query stays while its answer is shown', { skip }, async t => {
  const gateway = await startConsole()
  t.after(gateway.close)
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/search')
  const query = page.getByLabel('Query', { exact: true })
  await query.pressSequentially('wait ')
  await page.getByRole('region', { name: 'Answer: wait' }).waitFor()
  await query.pressSequentially('moment')
  assert.equal(await query.inputValue(), 'wait moment')
  await page.getByRole('region', { name: 'Answer: wait moment' }).waitFor()
  await end()
})
