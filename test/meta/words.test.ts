/** The texts of each profile name only tools that its agents have, and the documents state the counted costs. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Profile } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import { PROFILES } from '../../router/meta/profiles/profiles.ts'
import { faultSentence } from '../../router/meta/wording/sentences.ts'
import { asking } from './asking.ts'
import { serverOf } from './fixture.ts'
import { forge, wiki } from './servers.ts'

const ALL = Object.keys(PROFILES) as Profile[]
const META_TOOLS = ALL.flatMap(profile => [...PROFILES[profile].tools.keys()])

for (const profile of ALL)
  test(`texts of the profile ${profile} name only its own tools`, async () => {
    const { start, ask } = asking(profile)
    const long = () => ({ result: { content: [{ type: 'text', text: 'x'.repeat(3_000) }] } })
    const limits = { ...serverOf('wiki').limits, maxResultBytes: 1_000 }
    const fixture = start({ forge, wiki: { ...wiki, server: { limits }, answer: long } })
    const texts: string[] = []
    for (const [name, args] of [
      ['zzz', {}],
      ['list_issues', {}],
      ['forge:create_issue', {}],
      ['wiki:list_issues', {}],
    ] as const)
      texts.push((await ask(fixture, name, args)).content.at(-1)?.text ?? '')
    texts.push(faultSentence(new Fault('not_found', 'x'), serverOf('gone'), PROFILES[profile].words))
    const others = META_TOOLS.filter(name => name.includes('_') && !PROFILES[profile].tools.has(name))
    for (const text of texts)
      assert.deepEqual(
        others.filter(name => text.includes(name)),
        [],
        text,
      )
    const [unknown, several, wrong, cut, gone] = texts
    assert.match(unknown ?? '', /There is no tool "zzz"/)
    assert.match(several ?? '', /a tool of several servers/)
    assert.match(wrong ?? '', /The whole schema: \S+/)
    // Each profile has its own field for it.
    assert.doesNotMatch(wrong ?? '', /input_?schema/i)
    assert.match(cut ?? '', /What follows, within 10 minutes: \S+ with \S+ "(?:return read\(\\")?portolan/)
    assert.match(gone ?? '', /"gone" is no longer here\. (Search with|Look through) \S+\.$/)
  })

test('the documented number and cost of the meta-tools are those that were counted', () => {
  const document = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
  const table = document('docs/profiles.md')
  for (const profile of ALL.filter(name => name !== 'direct')) {
    const { tools, script, prices } = PROFILES[profile]
    const row = table.split('\n').find(line => line.startsWith(`| \`${profile}\``)) ?? ''
    const withScripts = prices.tools + prices.script
    if (profile === 'code')
      assert.match(row, new RegExp(`\\b${script.definition.name} \\| ${withScripts} \\|$`))
    else
      assert.match(
        row,
        new RegExp(`\\| ${tools.size} meta-tools\\b.*\\| ${prices.tools}; ${withScripts} \\|$`),
      )
  }
  const definitionTokens = PROFILES.hierarchical.prices.tools
  const readme = document('README.md')
  assert.match(readme, new RegExp(`through Portolan\\s${definitionTokens}, which`))
  assert.match(readme, new RegExp(`Through the gateway they cost it ${definitionTokens},`))
})
