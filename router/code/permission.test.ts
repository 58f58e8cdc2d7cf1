/** The question whether a script may call a tool: what of the arguments is read and shown. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { createCaller } from '../../core/mcp/caller.ts'
import type { ToolTarget } from '../meta/calling/targets.ts'
import { createPermit } from './permission.ts'

const TARGET = {
  tool: { path: 'files:wipe', definition: { annotations: { destructiveHint: true } } },
} as unknown as ToolTarget
const CODE = { destructive: 'Ask' as const, ask: [] }

/** The question about a call with these arguments. */
async function questionOn(args: JsonObject): Promise<string> {
  let message: unknown
  const caller = createCaller({
    capabilities: { elicitation: {} },
    ask: async ({ params }) => {
      message = params?.message
      return { result: { action: 'decline' } }
    },
  })
  assert.match((await createPermit(CODE, caller)(TARGET, args)) ?? '', /does not allow files:wipe/)
  return String(message)
}

test('a question shows the beginning of the arguments, and reads no more of long ones', async () => {
  assert.equal(
    await questionOn({ a: '\u200B' }),
    'A script wants to call files:wipe with {"a":"⟨U+200B zero width space⟩"}',
  )
  const long = await questionOn({ a: '\u200B'.repeat(10_000), path: '/etc' })
  assert.match(long, /^A script wants to call files:wipe with \{"a":"⟨U\+200B[^⟩]*and \d+ more⟩…$/)
  const pairs = await questionOn({ a: '👍'.repeat(10_000) })
  assert.ok(pairs.isWellFormed() && pairs.length < 700)
  const runs = await questionOn({ a: `${'\u{E0041}'.repeat(10_000)}` })
  assert.ok(runs.isWellFormed() && runs.length < 700, runs)
})

test('the arguments are not read for a question that cannot be asked', async () => {
  const args = {
    get path(): string {
      throw new Error('the arguments were read')
    },
  }
  const cannotAsk = [
    createCaller({ capabilities: { elicitation: {} } }),
    createCaller({ ask: async () => ({ result: {} }) }),
  ]
  for (const caller of cannotAsk)
    assert.match((await createPermit(CODE, caller)(TARGET, args)) ?? '', /you cannot be asked/)
})
