/**
 * `npm run screenshots -- [URL] [VIEW…]`: takes pictures of the console of a running gateway (default: http://127.0.0.1:8080/) in both
 * themes, into docs/console/. Without VIEW: those of the README. `all`: every page. Needs Debian's chromium.
 */
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const FOLDER = join(dirname(import.meta.dirname), 'docs', 'console')
const SIZE = { width: 1180, height: 720 }
const SETTLED_MS = 1_000
/** By the name of the picture: the place in the page, and the themes. */
const VIEWS: Readonly<Record<string, { hash: string; themes: readonly ('light' | 'dark')[] }>> = {
  overview: { hash: '/overview', themes: ['light', 'dark'] },
  servers: { hash: '/servers', themes: ['light', 'dark'] },
  tools: { hash: '/tools?sort=-tokens', themes: ['light', 'dark'] },
  search: { hash: '/search?query=which day is it today&limit=3&tool=fetch:fetch', themes: ['light', 'dark'] },
  try: { hash: '/try/memory%3Acreate_entities', themes: ['light', 'dark'] },
  log: { hash: '/log', themes: ['light', 'dark'] },
  metrics: { hash: '/metrics', themes: ['light', 'dark'] },
  resources: { hash: '/resources', themes: ['light', 'dark'] },
}
const OF_README = { search: ['light'], overview: ['dark'] } as const

async function main(): Promise<void> {
  const [first = '', ...names] = process.argv.slice(2)
  const base = first.startsWith('http') ? first : 'http://127.0.0.1:8080/'
  const views = first === '' || first.startsWith('http') ? names : [first, ...names]
  const pictures = wanted(views)
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  await mkdir(FOLDER, { recursive: true })
  try {
    for (const [name, themes] of pictures) for (const theme of themes) await take(browser, base, name, theme)
  } finally {
    await browser.close()
  }
}

/** The names of the pictures to take, each with its themes. Throws if there is no such view. */
export function wanted(views: readonly string[]): [string, readonly ('light' | 'dark')[]][] {
  if (views.length === 0) return Object.entries(OF_README)
  const names = views.includes('all') ? Object.keys(VIEWS) : views
  return names.map(name => {
    const view = VIEWS[name]
    if (!view) throw new Error(`there is no view "${name}": use ${Object.keys(VIEWS).join(', ')} or all`)
    return [name, view.themes]
  })
}

async function take(browser: Browser, base: string, name: string, theme: 'light' | 'dark'): Promise<void> {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: theme })
  await page.goto(`${base}#${VIEWS[name]?.hash ?? ''}`, { waitUntil: 'domcontentloaded' })
  await page.locator('main h1').first().waitFor()
  // Waits for the data of the stream and of the first requests. Nothing signals that it is complete.
  await page.waitForTimeout(SETTLED_MS)
  const path = join(FOLDER, `${name}-${theme}.png`)
  await page.screenshot({ path })
  await page.close()
  process.stdout.write(`${path}\n`)
}

if (import.meta.main) await main()
