/** When the lists of a user are read: once, after changes, and again after failures, within bounds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { Fault } from '../../core/errors.ts'
import { LOCAL_USER } from '../../core/mcp/user.ts'
import { catalogOf, upstreamOf } from '../../test/meta/fixture.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { ListRoom, type ListRoomOptions } from './list-room.ts'
import { LISTS_WAIT_MS, UserLists } from './user-lists.ts'

type Answer = () => Promise<string[]>

function start({ mostCharacters }: Pick<ListRoomOptions, 'mostCharacters'> = {}) {
  const clock = createManualClock()
  const seen = { read: 0, changed: 0, failed: 0, full: 0 }
  let answer: Answer = async () => ['a']
  let guides: Answer | undefined
  let shared: ServerCatalog | undefined = catalogOf('own', {})
  let isWanted = true
  const upstream = {
    ...upstreamOf(async ({ method }) => {
      if (method === 'prompts/list') return { result: { prompts: (await guides?.())?.map(nameOnly) ?? [] } }
      seen.read++
      const tools = (await answer()).map(name => ({ name, inputSchema: { type: 'object' } }))
      return { result: { tools } }
    }),
    connect: async () => ({
      protocolVersion: '2025-11-25',
      capabilities: guides ? { tools: {}, prompts: {} } : { tools: {} },
    }),
  }
  const room = new ListRoom({ clock, onFull: () => seen.full++, mostCharacters })
  const options = { server: 'own', user: LOCAL_USER, clock, room, open: () => upstream }
  const lists = () =>
    new UserLists({
      ...options,
      shared: () => shared,
      isWanted: () => isWanted,
      onChanged: () => seen.changed++,
      onFailed: () => seen.failed++,
    })
  const answers = (given: Answer) => {
    answer = given
  }
  const guide = (given: Answer) => {
    guides = given
  }
  /** `tokens`: of each text. */
  const share = (tools: string[], more: { prompts?: string[]; tokens?: number } = {}) => {
    const prompts = more.prompts?.map(nameOnly) ?? []
    const offers = { tools: tools.map(name => ({ name, inputSchema: { type: 'object' } })), prompts }
    const { tokens } = more
    shared = catalogOf('own', offers, tokens === undefined ? undefined : () => tokens)
  }
  const want = (wanted: boolean) => {
    isWanted = wanted
  }
  return { clock, seen, answers, guide, share, want, lists }
}

const nameOnly = (name: string) => ({ name })

const namesOf = (lists: UserLists) => lists.known?.tools.map(({ definition }) => definition.name)

const promptsOf = (lists: UserLists) => lists.known?.prompts.map(({ name }) => name)

async function read(lists: UserLists): Promise<void> {
  if (lists.isDue()) lists.read()
  await lists.waiting()
}

test('lists are read once, and again when the shared lists have changed', async () => {
  const { lists: make, seen, share } = start()
  const lists = make()
  await read(lists)
  await read(lists)
  assert.deepEqual(namesOf(lists), ['a'])
  assert.deepEqual([seen.read, seen.changed], [1, 1])
  share(['b'])
  await read(lists)
  assert.deepEqual([seen.read, seen.changed], [2, 1])
})

test('lists are read at most once a second, however often the server notifies of changes', async () => {
  const { lists: make, seen, clock, answers } = start()
  const lists = make()
  lists.changed()
  clock.advance(60_000)
  assert.equal(seen.read, 0)
  await read(lists)
  answers(async () => ['a', 'b'])
  for (let times = 0; times < 50; times++) lists.changed()
  clock.advance(999)
  assert.equal(seen.read, 1)
  clock.advance(1)
  await lists.waiting()
  assert.deepEqual(namesOf(lists), ['a', 'b'])
  assert.deepEqual([seen.read, seen.changed], [2, 2])
})

test('the lists of a server that notifies all the time are read less and less often, until it was quiet for a minute', async () => {
  const { lists: make, seen, clock } = start()
  const lists = make()
  await read(lists)
  const nextAfter = async (before = seen.read) => {
    lists.changed()
    let seconds = 0
    for (; seen.read === before && seconds < 60; seconds++) {
      clock.advance(1_000)
      await lists.waiting()
    }
    return seconds
  }
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) assert.equal(await nextAfter(), seconds)
  clock.advance(60_001)
  assert.equal(await nextAfter(), 1)
})

test('if a change is notified while the lists are read, they are read again afterwards', async () => {
  const { lists: make, seen, clock, answers } = start()
  const lists = make()
  await read(lists)
  const { promise, resolve } = Promise.withResolvers<string[]>()
  answers(() => promise)
  clock.advance(1_000)
  lists.changed()
  clock.advance(200)
  await nextTurn()
  assert.equal(seen.read, 2)
  lists.changed()
  clock.advance(1_000)
  assert.equal(seen.read, 2)
  const before = lists.waiting()
  answers(async () => ['c'])
  resolve(['b'])
  await before
  assert.deepEqual(namesOf(lists), ['b'])
  await nextTurn()
  clock.advance(2_000)
  await lists.waiting()
  assert.deepEqual(namesOf(lists), ['c'])
})

test('after failures there are pauses, which an answered call ends; the last lists stay', async () => {
  const { lists: make, seen, clock, answers, share } = start()
  const lists = make()
  await read(lists)
  share(['b'])
  answers(async () => {
    throw new Fault('upstream_unreachable', 'gone')
  })
  await read(lists)
  await read(lists)
  assert.deepEqual([seen.read, seen.failed], [2, 1])
  assert.deepEqual(namesOf(lists), ['a'])
  clock.advance(60_000)
  await read(lists)
  await read(lists)
  assert.deepEqual([seen.read, seen.failed], [3, 1])
  answers(async () => ['c'])
  clock.advance(1_999)
  lists.answered()
  assert.equal(lists.waiting(), undefined)
  clock.advance(1)
  lists.answered()
  await lists.waiting()
  assert.deepEqual(namesOf(lists), ['c'])
})

test('a success ends the pause after a failure: changed shared lists are due at once', async () => {
  const { lists: make, clock, answers, share } = start()
  const lists = make()
  await read(lists)
  lists.changed()
  clock.advance(900)
  answers(() => Promise.reject(new Fault('upstream_unreachable', 'gone')))
  share(['b'])
  await read(lists)
  answers(async () => ['b'])
  clock.advance(100)
  await lists.waiting()
  assert.deepEqual(namesOf(lists), ['b'])
  share(['c'])
  assert.ok(lists.isDue())
})

test('a list that cannot be read is not replaced by the shared one, and is read again after a minute', async () => {
  const { lists: make, seen, clock, share, guide } = start()
  share(['a'], { prompts: ['of all'] })
  guide(async () => {
    throw new Fault('upstream_unreachable', 'gone')
  })
  const lists = make()
  await read(lists)
  assert.deepEqual([namesOf(lists), promptsOf(lists)], [['a'], []])
  guide(async () => ['mine'])
  clock.advance(59_999)
  await read(lists)
  assert.equal(seen.read, 1)
  clock.advance(1)
  await read(lists)
  assert.deepEqual([promptsOf(lists), seen.read], [['mine'], 2])
  clock.advance(60_000)
  await read(lists)
  assert.equal(seen.read, 2)
})

test('while one list cannot be read the last one stays, and changes are read as before', async () => {
  const { lists: make, seen, clock, answers, share, guide } = start()
  guide(async () => ['mine'])
  const lists = make()
  await read(lists)
  guide(async () => {
    throw new Fault('upstream_unreachable', 'gone')
  })
  share(['b'], { prompts: ['of all'] })
  await read(lists)
  assert.deepEqual([promptsOf(lists), seen.read], [['mine'], 2])
  answers(async () => ['a', 'c'])
  lists.changed()
  clock.advance(1_000)
  await lists.waiting()
  assert.deepEqual([namesOf(lists), promptsOf(lists), seen.read], [['a', 'c'], ['mine'], 3])
  share(['c'])
  await read(lists)
  assert.equal(seen.read, 4)
})

test('equal lists have equal digests for all users, whatever was read for one of them before', async () => {
  const { lists: make, share } = start()
  const [first, second] = [make(), make()]
  share(['b'])
  await read(first)
  share(['a'], { tokens: 77 })
  await read(first)
  await read(second)
  assert.equal(first.known?.tools[0]?.tokens, 77)
  assert.equal(first.known?.digest, second.known?.digest)
  share(['b'])
  await read(first)
  const third = make()
  await read(third)
  assert.equal(first.known?.digest, third.known?.digest)
})

test('requests wait at most two seconds for a server that does not answer', async () => {
  const { lists: make, clock, answers } = start()
  const lists = make()
  answers(() => new Promise(() => {}))
  lists.read()
  clock.advance(LISTS_WAIT_MS - 1)
  assert.ok(lists.waiting())
  clock.advance(1)
  assert.equal(lists.waiting(), undefined)
})

test('lists for which there is no room are left out, and reported once a minute, until there is room', async () => {
  const one = JSON.stringify(catalogOf('own', {})).length
  const { lists: make, seen, clock } = start({ mostCharacters: 2 * one })
  const [first, second, third] = [make(), make(), make()]
  for (const lists of [first, second, third]) await read(lists)
  assert.deepEqual(namesOf(first), ['a'])
  assert.deepEqual([namesOf(second), namesOf(third), seen.full], [undefined, undefined, 1])
  first.end()
  await read(second)
  assert.equal(namesOf(second), undefined)
  clock.advance(60_000)
  await read(second)
  assert.deepEqual(namesOf(second), ['a'])
})

test("a user's lists are removed with the user, also while they are read, and a manifest can switch them off", async () => {
  const { lists: make, seen, answers, want } = start()
  const lists = make()
  await read(lists)
  want(false)
  assert.equal(lists.known, undefined)
  assert.ok(!lists.isDue())
  want(true)
  lists.end()
  assert.deepEqual([lists.known, seen.changed], [undefined, 2])
  const { promise, resolve } = Promise.withResolvers<string[]>()
  answers(() => promise)
  const other = make()
  other.read()
  const done = other.waiting()
  other.end()
  resolve(['late'])
  await done
  assert.deepEqual([other.known, seen.failed], [undefined, 0])
})
