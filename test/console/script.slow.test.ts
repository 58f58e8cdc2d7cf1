/** The page of scripts: what a script returns, a timeline of its calls, where it failed, and how the log shows it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { scriptCommand } from '../support/manifests.ts'
import { violationsOf } from './axe.ts'
import { openBrowser, openPage, skipBrowser, visit } from './browser.ts'
import { type ConsoleGateway, startConsole } from './gateway.ts'

const skip = skipBrowser()
const ALLOWED = `
apiVersion: portolan.dev/v1alpha1
kind: McpGateway
metadata: { name: scripted }
spec: { code: { enabled: true } }
---
apiVersion: portolan.dev/v1alpha1
kind: McpScript
metadata: { name: twice }
spec:
  description: Says something twice
  code: |
    await tools.polite.echo({ text: 'once' })
    return tools.polite.echo({ text: 'twice' })
`

let browser: Browser
let gateway: ConsoleGateway
before(async () => {
  if (skip) return
  browser = await openBrowser()
  gateway = await startConsole(undefined, {}, ALLOWED)
})
after(async () => {
  await browser?.close()
  await gateway?.close()
})

async function run(page: Page, code: string, input = ''): Promise<void> {
  await page.getByLabel(/^Code/).fill(code)
  await page.getByLabel(/^input/).fill(input)
  await page.getByLabel(/^Code/).press('Control+Enter')
}

test('a script has its value and a timeline of its calls, and the log lists these calls below the script', {
  skip,
}, async () => {
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/overview')
  await page.getByRole('link', { name: 'Script', exact: true }).click()
  const code = `const both = await Promise.all(input.map(text => tools.polite.echo({ text })))
console.log('between')
return (await tools.polite.echo({ text: 'last' })) + both.length`
  await run(page, code, '["a", "b"]')
  await page.getByText('· 3 calls').waitFor()
  const answer = (await page.locator('.answer').textContent()) ?? ''
  assert.match(answer, /last.*2.*Logged: between/s)
  const rows = page.locator('table.waterfall tbody tr')
  assert.equal(await rows.count(), 3)
  const starts = await rows
    .locator('.fill')
    .evaluateAll(bars => bars.map(bar => Number(bar.getAttribute('x'))))
  assert.ok((starts[2] ?? 0) > (starts[1] ?? 0), 'the call after the others begins later')
  assert.deepEqual(await violationsOf(page), [])
  await visit(page, gateway.base, '/log')
  await page.getByText('script', { exact: true }).waitFor()
  const lines = await page.locator('table.calls tbody tr td:nth-child(2)').allTextContents()
  assert.match(lines[0] ?? '', /script.*3 calls/)
  assert.equal(lines.slice(1).filter(line => line.startsWith('polite:echo')).length, 3)
  await end()
})

test('the calls of a reviewed script are listed below it, in the result and in the log', {
  skip,
}, async () => {
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/script')
  await run(page, `await tools.polite.echo({ text: 'first' })\nreturn tools.scripts.twice({})`)
  const rows = page.locator('table.waterfall tbody tr')
  await rows.nth(3).waitFor()
  const expected = ['polite:echo', 'scripts:twice', 'polite:echo', 'polite:echo']
  assert.deepEqual(await rows.locator('td:first-child').allTextContents(), expected)
  assert.equal(await rows.locator('.inner').count(), 2)
  assert.deepEqual(await violationsOf(page), [])
  await page.getByRole('link', { name: 'Log', exact: true }).click()
  const lines = page.locator('table.calls tbody td:nth-child(2) .mono')
  await page.locator('.inner-2').first().waitFor()
  assert.deepEqual((await lines.allTextContents()).slice(0, 5), ['script', ...expected])
  assert.match((await lines.nth(2).locator('..').textContent()) ?? '', /2 calls/)
  await visit(page, gateway.base, '/tools/polite%3Aecho')
  await page
    .locator('figure', { hasText: 'In scripts' })
    .getByText(/tools\.polite\.echo\(/)
    .waitFor()
  await end()
})

test('a failed script shows its line and the calls that were made', { skip }, async () => {
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/script')
  await run(page, `await tools.polite.echo({ text: 'x' })\nreturn undefined.length`)
  await page.locator('.editor .wrong').waitFor()
  assert.equal(await page.locator('.editor .wrong').textContent(), '2')
  assert.match((await page.locator('.answer').textContent()) ?? '', /TypeError.*Calls until then: 1/s)
  await page.getByLabel(/^input/).fill('{')
  await page.getByText('The input is not JSON').waitFor()
  await page.getByLabel(/^input/).fill('{"id": 9007199254740993}')
  await page.getByText('The input has a number that would be rounded').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Run' }).isDisabled())
  assert.deepEqual(await violationsOf(page), [])
  await end()
})

test('without code mode no link leads to the page of scripts, and its address says how to enable it', {
  skip,
}, async t => {
  const plain = await startConsole()
  t.after(plain.close)
  const { page, end } = await openPage(browser, plain.base)
  await visit(page, plain.base, '/script')
  await page.getByText('spec.code.enabled').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Script', exact: true }).count(), 0)
  await end()
})

test('while a script runs, or without code, Ctrl+Enter starts none', { skip }, async () => {
  const { page, end } = await openPage(browser, gateway.base)
  let started = 0
  page.on('request', request => {
    if (request.method() === 'POST') started++
  })
  await visit(page, gateway.base, '/script')
  await page.getByLabel(/^Code/).fill(' ')
  await page.getByLabel(/^Code/).press('Control+Enter')
  await page.getByText('No script has run yet.').waitFor()
  await run(page, 'return tools.polite.hang({})')
  await page.getByText('The script runs…').waitFor()
  await page.getByLabel(/^Code/).press('Control+Enter')
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('The call was stopped.').waitFor()
  assert.equal(started, 1)
  await end()
})

test('the answer to the question of a script belongs to the code that ran, also if it was edited since', {
  skip,
}, async t => {
  const sharp = scriptCommand('test/upstreams/rude/server.mjs', 'destructive')
  const asking = await startConsole({ sharp }, {}, ALLOWED.split('---')[0])
  t.after(asking.close)
  const { page, end } = await openPage(browser, asking.base)
  await visit(page, asking.base, '/script')
  await run(page, `return tools.sharp.echo({ text: 'as it ran' })`)
  const accept = page.getByRole('button', { name: 'Accept' })
  await page.getByLabel(/^allow/).selectOption({ label: 'once' })
  await page.getByLabel(/^Code/).fill('return 1')
  await accept.click()
  await page.locator('.answer', { hasText: 'as it ran' }).waitFor()
  await end()
})
