/** Runs axe in a page of a test: finds what makes the page inaccessible. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The violations of axe's rules, each with the elements concerned. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return (await page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)].join(" ")))',
  )) as string[]
}
