/** Required arguments of a prompt are checked before its server is asked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asking } from './asking.ts'

test('a prompt without an argument that it requires is refused before its server is asked', async () => {
  const { start, ask, refusal } = asking('hierarchical')
  const fixture = start()
  const message =
    'The prompt "forge:triage" needs the argument "repository". Its arguments: repository, since? (those with ? may be left out).'
  for (const given of [undefined, {}, { since: 'today' }, { repository: null }]) {
    const args = given === undefined ? {} : { arguments: given }
    assert.equal(
      await refusal(fixture, 'execute_mcp_tool', { prompt_path: 'forge:triage', ...args }),
      message,
    )
    const { error } = await fixture.request('prompts/get', { name: 'forge__triage', ...args })
    assert.deepEqual([error?.code, error?.message], [-32602, message])
  }
  assert.deepEqual(fixture.sent, [])
  assert.equal(fixture.seen.calls.at(-1)?.server, 'forge')
  await ask(fixture, 'execute_mcp_tool', { prompt_path: 'forge:triage', arguments: { repository: 'a/b' } })
  assert.equal(fixture.sent.length, 1)
})
