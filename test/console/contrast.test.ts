/** The colours of the console's tokens have enough contrast, in both themes (WCAG 2.2: 4.5 for text, 3 for edges of controls). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const css = readFileSync(join(import.meta.dirname, '..', '..', 'console', 'css', 'tokens.css'), 'utf8')
const tokens = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
    ([, name = '', light = '', dark = '']) => [name, [light, dark]],
  ),
)
const GROUNDS = ['ground', 'surface', 'sunken', 'tint', 'bad-tint']
const PAIRS: [string, string, number][] = [
  ...GROUNDS.flatMap((ground): [string, string, number][] => [
    ['text', ground, 4.5],
    ['quiet', ground, 4.5],
    ['accent', ground, 4.5],
  ]),
  ...['ground', 'surface', 'bad-tint'].map((ground): [string, string, number] => ['bad', ground, 4.5]),
  ...['ground', 'surface'].map((ground): [string, string, number] => ['edge', ground, 3]),
  ['on-accent', 'accent', 4.5],
  ['text', 'gone', 4.5],
  ['text', 'come', 4.5],
]

for (const [at, theme] of ['light', 'dark'].entries())
  test(`colours that are used on one another have enough contrast: ${theme}`, () => {
    const wrong = PAIRS.flatMap(([front, back, least]) => {
      const found = contrast(tokens.get(front)?.[at] ?? '', tokens.get(back)?.[at] ?? '')
      return found >= least ? [] : [`${front} on ${back}: ${found.toFixed(2)}`]
    })
    assert.deepEqual(wrong, [])
  })

/** WCAG 2.2, contrast ratio. */
function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (high + 0.05) / (low + 0.05)
}

/** WCAG 2.2, relative luminance. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(from => {
    const value = Number.parseInt(color.slice(from, from + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
