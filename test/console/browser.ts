/** A real Chromium for tests of the console, and what a page must never do. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const PROGRAM = '/usr/bin/chromium'
/** Runs in the page: every violation of its policy becomes an error of its log. */
const TELL_VIOLATIONS = `document.addEventListener('securitypolicyviolation', event =>
  console.error('violates ' + event.violatedDirective + ': ' + event.blockedURI))`

/** False where the tests run, or must (REQUIRE_BROWSER=1); otherwise the reason, for `skip` of node:test. */
export function skipBrowser(): false | string {
  if (existsSync(PROGRAM) || process.env.REQUIRE_BROWSER === '1') return false
  return 'no Chromium: apt-get install chromium'
}

/** To be closed by the caller. */
export function openBrowser(): Promise<Browser> {
  // Chromium has no sandbox for root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath: PROGRAM, args })
}

export type Watched = {
  page: Page
  /** What went wrong so far: errors, violations of the policy, requests to others. */
  wrong: string[]
  /** Fails if anything went wrong, and closes the page. */
  end(): Promise<void>
}

/** Opens a page and notes its errors, its violations of the policy, and its requests to others. */
export async function openPage(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('console', message => message.type() === 'error' && wrong.push(message.text()))
  page.on('pageerror', error => wrong.push(String(error)))
  page.on('request', request => {
    if (!request.url().startsWith(base) && !/^(?:data|blob):/.test(request.url())) wrong.push(request.url())
  })
  await page.addInitScript({ content: TELL_VIOLATIONS })
  return {
    page,
    wrong,
    async end() {
      await context.close()
      assert.deepEqual(wrong, [])
    },
  }
}

/** Opens a page of the console and waits until it shows its heading. */
export async function visit(page: Page, base: string, hash: string): Promise<void> {
  await page.goto(`${base}#${hash}`, { waitUntil: 'domcontentloaded' })
  await page.locator('main h1').first().waitFor()
}
