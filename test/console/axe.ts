/** axe in a page of a test: what keeps somebody out of it. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Each with the elements that have it; empty: none. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return (await page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)].join(" ")))',
  )) as string[]
}
