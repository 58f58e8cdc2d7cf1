/** Forms while people type in them: what is folded, and which call an answer belongs to. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { z } from 'zod'
import { scriptCommand } from '../support/manifests.ts'
import { startChanging } from '../upstreams/http/changing.ts'
import { openBrowser, openPage, skipBrowser, visit } from './browser.ts'
import { startConsole } from './gateway.ts'

const skip = skipBrowser()

let browser: Browser
before(async () => {
  if (!skip) browser = await openBrowser()
})
after(() => browser?.close())

test('an optional field keeps the focus when its text is deleted', { skip }, async t => {
  const inputSchema = z.object({ text: z.string(), note: z.string().optional() })
  const server = await startChanging({ tools: { write: 'Writes a file' }, inputSchema })
  t.after(() => server.close())
  const gateway = await startConsole({ files: { remote: { url: server.url } } })
  t.after(gateway.close)
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/try/files%3Awrite')
  await page.getByText('1 optional argument').click()
  const note = page.getByLabel(/^note/)
  await note.pressSequentially('a')
  await page.locator('pre.sent', { hasText: '"note": "a"' }).waitFor()
  await note.press('Backspace')
  await page.locator('pre.sent', { hasText: /^\{\}$/ }).waitFor()
  await note.and(page.locator(':focus')).waitFor()
  assert.ok(await note.isVisible())
  await page.getByText('1 optional argument').click()
  await note.waitFor({ state: 'hidden' })
  await end()
})

test('the answer to a question belongs to the call, also if its arguments were edited since', {
  skip,
}, async t => {
  const gateway = await startConsole({ asking: scriptCommand('test/upstreams/asking/modern.ts') })
  t.after(gateway.close)
  const { page, end } = await openPage(browser, gateway.base)
  const sent: unknown[] = []
  page.on('request', request => {
    if (request.method() === 'POST') sent.push(request.postDataJSON().params.arguments)
  })
  await visit(page, gateway.base, `/try/asking%3Aask?args=${encodeURIComponent('{"kinds":"form"}')}`)
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.getByText('Your name?').waitFor()
  await page.getByLabel(/^kinds/).fill('url')
  await page.getByLabel(/^name/).fill('Ann')
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.locator('.answer', { hasText: 'Ann' }).waitFor()
  const called = { tool_path: 'asking:ask', arguments: { kinds: 'form' } }
  assert.deepEqual(sent, [called, called])
  await end()
})
