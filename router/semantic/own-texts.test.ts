/** How texts that only some users have are encoded: in turn, bounded, and whatever happens to one of them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SearchText } from '../../core/catalog/search-text.ts'
import { createHashingEncoder } from '../../test/support/embeddings.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { OwnTexts } from './own-texts.ts'

const textOf = (key: string): SearchText => ({ key, full: `does ${key}`, name: key })
const many = (count: number, name: string) => Array.from({ length: count }, (_, at) => textOf(`${name}${at}`))
const routesTo = (texts: readonly SearchText[]) => texts.map(({ key }) => ({ textKey: key }))

/** Texts of an encoder that refuses those named `bad…`, and everything while it is down. */
function start(t: TestContext, room?: number) {
  const clock = createManualClock()
  const real = createHashingEncoder()
  const state = { down: false, announced: 0, tried: [] as string[] }
  const life = new AbortController()
  const texts = new OwnTexts({
    encoder: {
      encodeQuery: async (...asked) => {
        if (state.down) throw new Error('down')
        return real.encodeQuery(...asked)
      },
      encodeTexts: async ([text], signal) => {
        const { key } = text ?? assert.fail()
        state.tried.push(key)
        if (state.down || key.startsWith('bad')) throw new Error('no')
        return real.encodeTexts([textOf(key)], signal)
      },
    },
    clock,
    onVectors: () => state.announced++,
    signal: life.signal,
    room,
  })
  t.after(() => life.abort())
  /** Lets time pass, a second at a time. */
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      for (let turn = 0; turn < 50; turn++) await nextTurn()
      clock.advance(1_000)
    }
  }
  const timesTried = (wanted: string) => state.tried.filter(key => key === wanted).length
  return { clock, state, texts, pass, timesTried }
}

test('a text that cannot be encoded is given up after three failures, and others are encoded meanwhile', async t => {
  const { texts, state, pass, timesTried } = start(t)
  texts.add([textOf('bad'), textOf('good')])
  await pass(10)
  assert.ok(texts.get('good'))
  assert.deepEqual([timesTried('bad'), timesTried('good')], [3, 1])
  assert.equal(state.announced, 1)
})

test('if every text fails, no vectors are announced', async t => {
  const { texts, state, pass, timesTried } = start(t)
  texts.add([textOf('bad')])
  await pass(10)
  assert.deepEqual([timesTried('bad'), state.announced], [3, 0])
})

test('a text that was given up is tried again after ten minutes', async t => {
  const { texts, clock, pass } = start(t)
  texts.add([textOf('bad')])
  await pass(10)
  const routes = routesTo([textOf('bad'), textOf('good')])
  assert.deepEqual(texts.choose(routes), routesTo([textOf('good')]))
  clock.advance(600_000)
  assert.deepEqual(texts.choose(routes), routes)
})

test('while the encoder is down no text is given up, and it is asked less and less often', async t => {
  const { texts, state, pass } = start(t)
  state.down = true
  texts.add(many(2, 'good'))
  await pass(300)
  assert.ok(state.tried.length > 6 && state.tried.length < 40, `${state.tried.length} tries`)
  assert.equal(state.announced, 0)
  state.down = false
  await pass(40)
  assert.ok(texts.get('good0') && texts.get('good1'))
  // The first at once, since nothing had been announced for long.
  assert.equal(state.announced, 2)
})

test('vectors made before the encoder went down are announced at once', async t => {
  const { texts, state } = start(t)
  texts.add([textOf('good'), textOf('bad')])
  while (!texts.get('good')) await nextTurn()
  state.down = true
  for (let turn = 0; turn < 50; turn++) await nextTurn()
  assert.equal(state.announced, 1)
})

test('at most 200 texts of one list wait, so that texts of other lists are accepted', async t => {
  const { texts, pass } = start(t)
  const large = many(3_000, 'large')
  const chosen = () => texts.choose(routesTo(large)).map(({ textKey }) => textOf(textKey))
  assert.equal(chosen().length, 200)
  // The same ones again, as long as none has its vector.
  for (let time = 0; time < 20; time++) texts.add(chosen())
  texts.add([textOf('other')])
  await pass(20)
  assert.ok(texts.get('other') && texts.get('large199'))
  assert.equal(texts.get('large200'), undefined)
})

test('the number of vectors is bounded: those that were looked up longest ago are dropped', async t => {
  const { texts, pass } = start(t, 3)
  texts.add(many(3, 'good'))
  await pass(2)
  assert.ok(texts.get('good0'))
  texts.add([textOf('more')])
  await pass(2)
  assert.ok(texts.get('good0') && texts.get('good2') && texts.get('more'))
  assert.equal(texts.get('good1'), undefined)
})
