/** Every page in a real browser: nothing violates its content security policy, nothing overflows, everything is accessible. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { callTool } from '../support/mcp.ts'
import { violationsOf } from './axe.ts'
import { openBrowser, openPage, skipBrowser, visit } from './browser.ts'
import { type ConsoleGateway, startConsole } from './gateway.ts'

const skip = skipBrowser()
const PAGES = [
  '/overview',
  '/servers',
  '/servers/polite',
  '/servers/polite?tab=log',
  '/servers/polite?tab=limits',
  '/servers/polite?tab=manifest',
  '/tools',
  '/tools/polite%3Aecho',
  '/search',
  '/search?query=say%20it%20again&limit=3&tool=polite:echo',
  '/search?query=say%20it%20again&other=echo',
  '/try',
  '/try/polite%3Aecho',
  '/log?outcome=errors&call=2',
  '/metrics',
  '/resources',
  '/script',
]
const ALLOWED = `
apiVersion: portolan.dev/v1alpha1
kind: McpGateway
metadata: { name: scripted }
spec: { code: { enabled: true } }
`
/** The first is the width of a window of 1280 px that is enlarged to 400 %. */
const WIDTHS = [320, 360, 768, 1440]
const CUT_OFF =
  '[...document.querySelectorAll(".scroll")].filter(one => one.scrollWidth > one.clientWidth).length'
/** The column of tool paths, which must not become so narrow that a path breaks into many short lines. */
const TOOL_WIDTH = 'document.querySelector("table.calls td:nth-child(2)").offsetWidth'

let browser: Browser
let gateway: ConsoleGateway
before(async () => {
  if (skip) return
  browser = await openBrowser()
  gateway = await startConsole(undefined, {}, ALLOWED)
  await callTool(gateway.url, 'execute_mcp_tool', { tool_path: 'polite:echo', arguments: { text: 'ahoy' } })
  await callTool(gateway.url, 'execute_mcp_tool', { tool_path: 'polite:ecco', arguments: {} })
})
after(async () => {
  await browser?.close()
  await gateway?.close()
})

for (const colorScheme of ['light', 'dark'] as const)
  test(`no page has a violation of axe, of its policy, or overflows: ${colorScheme}`, { skip }, async () => {
    const { page, end } = await openPage(browser, gateway.base, { colorScheme })
    for (const hash of PAGES) {
      await visit(page, gateway.base, hash)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 })
        const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        assert.equal(over, 0, `${hash} at ${width}`)
        if (width === 1440) assert.equal(await page.evaluate(CUT_OFF), 0, `a table of ${hash} is cut off`)
        if (hash.startsWith('/log')) assert.ok(Number(await page.evaluate(TOOL_WIDTH)) > 120, `at ${width}`)
        // Twice is enough: axe takes half a second.
        if (width === 360 || width === 768) continue
        assert.deepEqual(await violationsOf(page), [], `${hash} at ${width}`)
      }
    }
    await end()
  })

test('without JavaScript the page names the commands to use instead', { skip }, async () => {
  const { page, end } = await openPage(browser, gateway.base, { javaScriptEnabled: false })
  await page.goto(gateway.base)
  assert.match((await page.locator('body').textContent()) ?? '', /npx portolan servers/)
  await end()
})
