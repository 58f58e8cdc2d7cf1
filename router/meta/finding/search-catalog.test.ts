/** Which texts are encoded for a search among tools, resources and prompts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quantize } from '../../../core/catalog/vectors.ts'
import { prepareDots } from '../../../core/encoder/dots.ts'
import { createFixture } from '../../../test/meta/fixture.ts'
import { embed } from '../../../test/support/embeddings.ts'
import { createVectorTable } from '../../catalog/search/vectors.ts'
import type { Work } from '../meta-tool.ts'
import { createTurns } from '../turns.ts'
import { findItems } from './search-catalog.ts'

test('a word that only prompts contain is encoded for prompts, even if it is corrected for tools', async () => {
  const inputSchema = { type: 'object' as const }
  const { catalog } = createFixture({
    forge: {
      offers: {
        tools: [{ name: 'run_trial', description: 'Starts a trial', inputSchema }],
        prompts: [{ name: 'triage', description: 'Sorts what came in' }],
      },
    },
  })
  const vectors = {
    tools: createVectorTable([quantize(embed('run trial'))], prepareDots()),
    extras: createVectorTable([quantize(embed('triage'))], prepareDots()),
  }
  const asked: string[] = []
  const encodeQuery = async (text: string) => {
    asked.push(text)
    return quantize(embed(text))
  }
  const request = { caller: {} }
  const turns = createTurns()
  const work = { catalog: { ...catalog(), vectors }, encodeQuery, request, turns } as unknown as Work
  const { extras } = await findItems(work, 'triage', 5)
  assert.deepEqual(asked, ['trial', 'triage'])
  assert.ok((extras[0]?.relevance ?? 0) > 0.9, `${extras[0]?.relevance}`)
  asked.length = 0
  await findItems(work, 'trial run', 5)
  assert.deepEqual(asked, ['trial run'])
})
