/** What a published snapshot contains while descriptions are still counted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mcpServerSchema } from '../crds/server.ts'
import { createInProcessSource } from '../router/source/in-process-source.ts'
import { createManualClock } from '../test/support/manual-clock.ts'
import type { Children } from './children.ts'
import { desire } from './desire.ts'
import { Publisher } from './publisher.ts'

const COALESCE_MS = 50

function create() {
  const clock = createManualClock()
  const counts: (PromiseWithResolvers<number[]> & { texts: readonly string[] })[] = []
  const warnings: unknown[] = []
  const children = { observations: () => new Map(), userSecrets: () => new Map(), observed: () => undefined }
  const publisher = new Publisher(
    {
      ...{ source: createInProcessSource(), clock, assumed: true },
      children: children as unknown as Children,
      countTokens: texts => {
        const counting = { ...Promise.withResolvers<number[]>(), texts }
        counts.push(counting)
        return counting.promise
      },
      override: config => config,
      log: { warn: (fields: unknown) => warnings.push(fields) },
    },
    desire([], undefined, 0),
  )
  return { clock, counts, warnings, publisher }
}

function begin() {
  const { clock, publisher, ...seen } = create()
  publisher.publish()
  return {
    ...seen,
    describe: (...descriptions: string[]) => publisher.setDesired(desired(descriptions)),
    /** The token counts of the descriptions in the next snapshot. */
    counted: async () => {
      await new Promise(setImmediate)
      clock.advance(COALESCE_MS)
      const [server] = publisher.config().servers
      return Object.values(server?.tools.overrides ?? {}).map(({ descriptionTokens }) => descriptionTokens)
    },
  }
}

function desired(descriptions: string[]) {
  const overrides = Object.fromEntries(descriptions.map((description, at) => [`t${at}`, { description }]))
  const manifest = mcpServerSchema.parse({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'a' },
    spec: { command: { run: 'echo' }, tools: { overrides } },
  })
  const place = {
    file: 'a.yaml',
    folder: '/',
    line: 1,
    column: 1,
    placeOf: (path: string) => ({ line: 1, column: 1, path }),
  }
  return desire([{ manifest, ...place }], undefined, 0)
}

test('a count that ends late does not replace newer ones', async () => {
  const { describe, counts, counted } = begin()
  describe('one')
  describe('one', 'two')
  counts[1]?.resolve(counts[1].texts.map(() => 7))
  await counted()
  counts[0]?.resolve([7])
  assert.deepEqual(await counted(), [7, 7])
})

test('a count that fails is logged, and known counts stay', async () => {
  const { describe, counts, counted, warnings } = begin()
  describe('one')
  counts[0]?.resolve([7])
  assert.deepEqual(await counted(), [7])
  describe('one', 'two')
  counts[1]?.reject(new Error('no tokenizer'))
  assert.deepEqual(await counted(), [7, undefined])
  assert.deepEqual(warnings, [{ detail: 'no tokenizer' }])
})

test('changes before the first snapshot do not lead to one', () => {
  const { clock, publisher } = create()
  publisher.setDesired(desired(['one']))
  clock.advance(1_000)
  assert.deepEqual(publisher.progress(), { generation: 0, pending: true })
  publisher.publish()
  publisher.publishSoon()
  clock.advance(COALESCE_MS)
  assert.equal(publisher.progress().generation, 2)
})
