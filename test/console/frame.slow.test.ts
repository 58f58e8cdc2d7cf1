/** The frame around all pages: where a page begins, what the keyboard reaches and scrolls. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { scriptCommand } from '../support/manifests.ts'
import { callTool } from '../support/mcp.ts'
import { startChanging } from '../upstreams/http/changing.ts'
import { openBrowser, openPage, skipBrowser, visit } from './browser.ts'
import { type ConsoleGateway, startConsole } from './gateway.ts'

const skip = skipBrowser()
const LOW = { viewport: { width: 1_280, height: 320 } }
const GATEWAY = `
apiVersion: portolan.dev/v1alpha1
kind: McpGateway
metadata: { name: scripted }
spec: { code: { enabled: true }, audit: { payloads: full } }`
/** Elements that scroll, when they are full, but that the keyboard does not reach in each browser. */
const UNREACHED = `[...document.querySelectorAll('main pre, main .description')]
  .filter(one => one.tabIndex !== 0).map(one => one.outerHTML.slice(0, 80))`
/** Scrolls so that the first link of the overview is behind the header, and focuses the second one. */
const SCROLL_BELOW_HEADER = `(() => {
  const [first, second] = document.querySelectorAll('main a')
  scrollBy(0, first.getBoundingClientRect().top - 4)
  second.focus({ preventScroll: true })
})()`
const COVERED =
  'document.activeElement.getBoundingClientRect().top < document.querySelector(".top").getBoundingClientRect().bottom'

let browser: Browser
let gateway: ConsoleGateway
before(async () => {
  if (skip) return
  browser = await openBrowser()
  const polite = scriptCommand('test/upstreams/rude/server.mjs', 'polite')
  gateway = await startConsole({ polite: { ...polite, logging: { payloads: 'full' } } }, {}, GATEWAY)
  await callTool(gateway.url, 'execute_mcp_tool', { tool_path: 'polite:echo', arguments: { text: 'ahoy' } })
})
after(async () => {
  await browser?.close()
  await gateway?.close()
})

const heightOf = async (page: Page) => Number(await page.evaluate('document.documentElement.scrollHeight'))

test('another page begins at its top', { skip }, async () => {
  const { page, end } = await openPage(browser, gateway.base, LOW)
  await visit(page, gateway.base, '/overview')
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await page.waitForFunction('scrollY > 0')
  await page.evaluate('location.hash = "#/servers/polite"')
  await page.getByRole('heading', { name: 'polite' }).waitFor()
  assert.ok((await heightOf(page)) > LOW.viewport.height, 'it could be scrolled')
  await page.waitForFunction('scrollY === 0')
  await end()
})

test('on the page of the search, its key focuses the field and keeps the query', { skip }, async () => {
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/search?query=echo&limit=20')
  await page.getByRole('region', { name: 'Answer: echo' }).waitFor()
  await page.getByLabel('Limit').focus()
  await page.keyboard.press('Control+k')
  await page.locator('input.query:focus').waitFor()
  assert.equal(await page.getByLabel('Query', { exact: true }).inputValue(), 'echo')
  assert.equal(await page.getByLabel('Limit').inputValue(), '20')
  await end()
})

test('the header covers nothing that gets the focus', { skip }, async () => {
  const { page, end } = await openPage(browser, gateway.base, LOW)
  await visit(page, gateway.base, '/overview')
  await page.evaluate(SCROLL_BELOW_HEADER)
  assert.equal(await page.evaluate(COVERED), false)
  await page.keyboard.press('Shift+Tab')
  assert.equal(await page.evaluate(COVERED), false)
  await end()
})

test('whatever scrolls can be reached, and so scrolled, with the keyboard', { skip }, async () => {
  const { page, end } = await openPage(browser, gateway.base)
  const assertReached = async (what: string) => assert.deepEqual(await page.evaluate(UNREACHED), [], what)
  await visit(page, gateway.base, '/tools/polite%3Aecho')
  await page.locator('.description').waitFor()
  await assertReached('tool')
  await visit(page, gateway.base, `/try/polite%3Aecho?args=${encodeURIComponent('{"text":"ahoy"}')}`)
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.locator('.answer pre').waitFor()
  await assertReached('result')
  await page.locator('.answer').getByRole('button', { name: 'JSON', exact: true }).click()
  await assertReached('result as JSON')
  await visit(page, gateway.base, '/log?call=1')
  await page.locator('.drawer pre').waitFor()
  await assertReached('call')
  await visit(page, gateway.base, '/script')
  await page.getByLabel(/^Code/).fill(`console.log('logged')\nreturn 1`)
  await page.getByRole('button', { name: 'Run' }).click()
  await page.locator('.answer pre').first().waitFor()
  await assertReached('script')
  await end()
})

test('a tool without a description is searched by its path', { skip }, async t => {
  const server = await startChanging({ tools: { read: '' } })
  t.after(() => server.close())
  const bare = await startConsole({ files: { remote: { url: server.url } } })
  t.after(bare.close)
  const { page, end } = await openPage(browser, bare.base)
  await visit(page, bare.base, '/tools/files%3Aread')
  await page.getByRole('link', { name: 'How it is found' }).click()
  await page.getByRole('heading', { name: 'Search' }).waitFor()
  assert.equal(await page.getByLabel('Query', { exact: true }).inputValue(), 'files:read')
  await end()
})
