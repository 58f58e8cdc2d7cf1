/** Pages of the console that are open while the lists of a server change. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startChanging } from '../upstreams/http/changing.ts'
import { openBrowser, openPage, skipBrowser, visit } from './browser.ts'
import { startConsole } from './gateway.ts'

const skip = skipBrowser()

let browser: Browser
before(async () => {
  if (!skip) browser = await openBrowser()
})
after(() => browser?.close())

/** A page of a gateway with the server `files`, whose tools `change` replaces. */
async function open(t: TestContext) {
  const server = await startChanging({ tools: { read: 'Reads a file', write: 'Writes a file' } })
  t.after(() => server.close())
  const { base, close } = await startConsole({ files: { remote: { url: server.url } } })
  t.after(close)
  const change = async (tools: Record<string, string>) => {
    server.offer.tools = tools
    const headers = { origin: new URL(base).origin, 'content-type': 'application/json' }
    const body = '{"action":"read","server":"files"}'
    assert.equal((await fetch(`${base}console/action`, { method: 'POST', headers, body })).status, 200)
  }
  return { ...(await openPage(browser, base)), base, change }
}

test('an open page shows renamed tools and new descriptions', { skip }, async t => {
  const { page, base, change, end } = await open(t)
  await visit(page, base, '/tools')
  await page.getByRole('link', { name: 'files:read', exact: true }).waitFor()
  await change({ load: 'Reads a file', write: 'Writes a file' })
  await page.getByRole('link', { name: 'files:load', exact: true }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'files:read', exact: true }).count(), 0)
  await change({ load: 'Takes a file in', write: 'Writes a file' })
  await page.getByText('Takes a file in').waitFor()
  await end()
})

test('the result of a call stays when the tool changes, also if it cannot be read at first', {
  skip,
}, async t => {
  const { page, base, change, wrong, end } = await open(t)
  await visit(page, base, `/try/files%3Awrite?args=${encodeURIComponent('{"text":"ahoy"}')}`)
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.locator('.answer pre').waitFor()
  const assertResult = async () =>
    assert.match((await page.locator('.answer').textContent()) ?? '', /write: ahoy/)
  await change({ write: 'Writes a line' })
  await page.getByText('Writes a line').waitFor()
  await assertResult()

  await page.route('**/console/tool?*', route => route.fulfill({ status: 200, body: 'Please log in.' }))
  await change({ write: 'Writes a page' })
  await page.getByText('The answer is not JSON').waitFor()
  await assertResult()

  const notNow = { status: 503, json: { error: 'It cannot be read now.' } }
  await page.route('**/console/tool?*', route => route.fulfill(notNow))
  await change({ write: 'Writes a word' })
  await page.getByText('It cannot be read now.').waitFor()
  await assertResult()
  // The browser reports the status as an error of the page.
  assert.match(wrong.splice(0).join(), /503/)
  await page.unroute('**/console/tool?*')
  const retry = page.getByRole('button', { name: 'Retry' })
  await retry.click()
  await page.getByText('Writes a word').waitFor()
  assert.equal(await retry.count(), 0)
  await assertResult()
  await end()
})
