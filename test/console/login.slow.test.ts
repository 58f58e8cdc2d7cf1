/** The form that asks for a token: when it appears, what it says, and what has the focus. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { freePort } from '../support/free-port.ts'
import { violationsOf } from './axe.ts'
import { openBrowser, openPage, skipBrowser, visit } from './browser.ts'
import { startConsole } from './gateway.ts'

const skip = skipBrowser()
const TOKEN = 'a-token-of-more-than-32-characters-0'

let browser: Browser
before(async () => {
  if (!skip) browser = await openBrowser()
})
after(() => browser?.close())

const field = (page: Page) => page.getByLabel('Bearer token')

async function login(page: Page, token: string): Promise<void> {
  await field(page).fill(token)
  await page.getByRole('button', { name: 'Continue' }).click()
}

test('when a token no longer holds, the page asks for another, and does not also say that it reconnects', {
  skip,
}, async t => {
  const port = await freePort()
  const first = await startConsole(undefined, { port, token: TOKEN })
  const { page } = await openPage(browser, first.base)
  await visit(page, first.base, '/servers')
  await login(page, TOKEN)
  await page.getByRole('link', { name: 'polite', exact: true }).waitFor()
  await first.close()
  await page.getByText(/Disconnected since/).waitFor()
  const second = await startConsole(undefined, { port, token: `${TOKEN}1` })
  t.after(second.close)
  await field(page).waitFor()
  assert.equal(await page.getByText(/Disconnected since/).count(), 0)
  await page.context().close()
})

test('the reason why a token is refused is announced, and the field has the focus', { skip }, async t => {
  const gateway = await startConsole(undefined, { token: TOKEN })
  t.after(gateway.close)
  const { page } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/servers')
  const focused = field(page).and(page.locator(':focus'))
  await focused.waitFor()
  const asked = page.waitForResponse(response => response.status() === 401)
  await login(page, `${TOKEN}-wrong`)
  await asked
  await page.getByRole('alert').waitFor()
  await focused.waitFor()
  assert.deepEqual(await violationsOf(page), [])
  await page.context().close()
})

test('a token that no header can carry is refused with the reason, and the next one is used', {
  skip,
}, async t => {
  const gateway = await startConsole(undefined, { token: TOKEN })
  t.after(gateway.close)
  const { page } = await openPage(browser, gateway.base)
  await visit(page, gateway.base, '/servers')
  await login(page, `${TOKEN}…`)
  await page.getByText('a bearer token has only visible ASCII characters.').waitFor()
  await login(page, TOKEN)
  await page.getByRole('link', { name: 'polite', exact: true }).waitFor()
  await page.context().close()
})
