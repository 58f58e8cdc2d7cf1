/** The log when it has more calls than its page draws. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callTool } from '../support/mcp.ts'
import { openBrowser, openPage, skipBrowser, visit } from './browser.ts'
import { startConsole } from './gateway.ts'

const CALLS = 310
const DRAWN = 300

test('the log says how many calls it does not draw, and a link to one of them opens it', {
  skip: skipBrowser(),
}, async t => {
  const gateway = await startConsole()
  t.after(gateway.close)
  const echo = (text: string) =>
    callTool(gateway.url, 'execute_mcp_tool', { tool_path: 'polite:echo', arguments: { text } })
  for (let made = 0; made < CALLS; made += 5) await Promise.all(['a', 'b', 'c', 'd', 'e'].map(echo))
  const browser = await openBrowser()
  t.after(() => browser.close())
  const { page, end } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/log')
  await page.getByText(`${CALLS} of ${CALLS} calls`).waitFor()
  await page.getByText(`and ${CALLS - DRAWN} more: filter them`).waitFor()
  assert.equal(await page.locator('table.calls tbody tr').count(), DRAWN)
  await page.evaluate('location.hash = "#/log?call=1"')
  await page.locator('.drawer').waitFor()
  await page.getByText(`and ${CALLS - DRAWN - 1} more: filter them`).waitFor()
  await page.locator('table.calls tbody tr').nth(DRAWN).getByRole('button', { expanded: true }).waitFor()
  await end()
})
