/** What a search says of products without a server, and of selected names without a tool, in every profile that searches. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Profile } from '../../core/catalog/router-config.ts'
import { codeOf } from '../code/script-gateway.ts'
import { createFixture, type FixtureServer } from './fixture.ts'
import { SERVERS } from './servers.ts'

const SEARCHES: [Profile, string][] = [
  ['hierarchical', 'discover_mcp_tools'],
  ['search', 'mcp_search_tools'],
  ['registry', 'discover'],
  ['code', 'find_tools'],
]
/** Servers for which there are no tools: one that needs a login, and one that has only a prompt. */
const SILENT: Record<string, FixtureServer> = {
  asana: { server: { status: { state: 'authRequired', hidden: true } } },
  notion: { offers: { tools: [], prompts: [{ name: 'summarize', description: 'Sums a page up' }] } },
}
const fixture = createFixture(
  { ...SERVERS, ...SILENT },
  { allowedProfiles: ['search', 'registry', 'code'], code: codeOf() },
)
after(() => fixture.scripts.close())

for (const [profile, name] of SEARCHES) {
  const answerOf = async (query: string) => {
    const { content } = await fixture.call(name, { query }, { route: { kind: 'gateway', profile } })
    return content[0]?.text ?? ''
  }

  test(`${profile}: a search that names a product without a server says so`, async () => {
    for (const query of ['jira create issue', 'create an issue in Jira', 'search pages in confluence'])
      assert.match(await answerOf(query), /No server here is for (?:jira|confluence)\./, query)
    for (const query of [
      'issue description',
      'toggle issues',
      'create a page in notion',
      'create issue',
      'forge create issue',
      'a linear list of issues',
      'zzqqxx create issue',
    ])
      assert.doesNotMatch(await answerOf(query), /No server here/, query)
  })

  test(`${profile}: a server without tools is not absent, and its state is the reason why a selected tool is missing`, async () => {
    assert.doesNotMatch(await answerOf('asana create issue'), /No server here/)
    if (profile === 'search') return
    const answer = await answerOf('select:asana:create_task,forge:create_issue')
    assert.match(answer, /asana.{1,2} needs credentials/)
    assert.doesNotMatch(answer, /There is no tool/)
  })

  test(`${profile}: of selected names, those without a tool are told, and the other tools are shown`, async () => {
    const answer = await answerOf('select:forge:create_issue,forge:zzqqxx')
    assert.match(
      answer,
      profile === 'search' ? /"notFound":\["forge:zzqqxx"\]/ : /There is no tool .*forge:zzqqxx/,
    )
    assert.match(answer, /create_issue/)
    assert.doesNotMatch(answer, /list_issues/)
  })

  test(`${profile}: if no tool has the selected names, or the path that is the query, this is told`, async () => {
    for (const query of ['select:forge:frob,wiki:zzqqxx', 'forge:frob', 'forge:frob#/properties/title'])
      assert.match(await answerOf(query), /There is no tool .*forge:frob/, query)
    if (profile !== 'search')
      assert.match(await answerOf('select:forge:frob,wiki:zzqqxx'), /forge:frob.*, .*wiki:zzqqxx/)
    assert.match(await answerOf('select:asana:create_task,asana:list_tasks'), /asana.{1,2} needs credentials/)
    for (const query of [
      'forge:create_issue',
      'forge:Create-Issue',
      'forge:create_issue#/properties/title',
      'notion:summarize',
      'note: create an issue',
      'https://forge.example/create',
    ])
      assert.doesNotMatch(await answerOf(query), /There is no tool/, query)
  })

  test(`${profile}: words with a colon, and paths of a server that is not there, are searched like any words`, async () => {
    for (const query of [
      'localhost:8080',
      'is:open',
      'label:bug',
      'mailto:bob@example.com',
      '12:30',
      'c:\\temp',
      'notion:Summarize',
      'removed:create_issue',
    ])
      assert.doesNotMatch(await answerOf(query), /There is no tool|notFound/, query)
  })
}
