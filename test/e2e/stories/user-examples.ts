/** The examples of users in a cluster, unchanged: what each user gets, and what the status says about it. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../support/until.ts'
import { type Caller, callerOf } from '../support/caller.ts'
import { EXAMPLES, manifestFiles, secretIn } from '../support/example-files.ts'
import type { Stories } from '../support/story.ts'
import { idOf } from '../support/users.ts'

const GATEWAY = join(EXAMPLES, 'users', 'cluster', 'gateway.yaml')
const NAMES = ['ada', 'ben']
const SOMETHING = { entities: [{ name: 'Lisbon', entityType: 'city', observations: ['has trams'] }] }
/** Four pods install their packages, on a machine that does other work too. */
const INSTALL_LIMIT_MS = 300_000

export const userExampleStories: Stories = (running, options) => {
  test('each user of examples/users has their own pods, and the status says so', options, async t => {
    const portolan = running()
    const space = await portolan.namespace('users-example', t)
    for (const file of manifestFiles('users')) await space.applyFile(file)
    await space.untilReady('memory', 'thinking')
    const { status } = await space.untilServing('tools', { ready: 2 })
    assert.equal(status?.servers?.selected, 3)
    // Neither the server that people log in to nor the issuer exists here; callers with a token are served all the same.
    await space.untilSaid('notes', 'Accepted', 'Accepted')
    await space.untilSaid('notes', 'Ready', 'Unreachable')
    await space.untilSaidOfGateway('tools', 'Accepted', 'Accepted')
    await space.untilSaidOfGateway('tools', 'AuthReady', 'KeysUnavailable')

    const tokens = NAMES.map(name => secretIn(GATEWAY, 'callers', name))
    const callers = await Promise.all(
      [...tokens, undefined].map(token => callerOf(portolan.cluster, space.name, 'tools', token)),
    )
    t.after(() => {
      for (const caller of callers) caller.stop()
    })
    const [ada, ben, nobody] = callers as [Caller, Caller, Caller]
    await assert.rejects(nobody.find('think in steps'), /HTTP 401/)
    // Their first calls start their pods.
    assert.deepEqual(await Promise.all([ada, ben].map(think)), [1, 1])
    assert.equal(await think(ada), 2)
    await until('it is written', () => ada.call('memory:create_entities', SOMETHING), INSTALL_LIMIT_MS)
    assert.match(await ada.call('memory:read_graph', {}), /has trams/)
    const bens = await until('his memory is read', () => ben.call('memory:read_graph', {}), INSTALL_LIMIT_MS)
    assert.doesNotMatch(bens, /Lisbon/)

    for (const name of ['memory', 'thinking']) {
      await until(`status.users of ${name}`, async () => {
        const { wanted, ready, problems } = (await space.server(name))?.status?.users ?? {}
        return wanted === NAMES.length && ready === NAMES.length && problems === undefined
      })
      const wide = await portolan.kubectl('-n', space.name, 'get', 'mcpserver', name, '-o', 'wide')
      assert.match(wide, /AGE +USERS/)
      assert.match(wide, new RegExp(`^${name} +True .* Ready +\\w+ +${NAMES.length} `, 'm'))
      const made = await space.made()
      for (const user of NAMES)
        for (const kind of ['Deployment', 'Service', 'Secret'])
          assert.ok(made.includes(`${kind} mcp-${name}-u-${idOf(user)}`), `${kind} of ${user}: ${made}`)
    }
  })
}

/** How many thoughts the process of this caller has kept. */
async function think(caller: Caller): Promise<number> {
  const thought = { thought: 'of mine', thoughtNumber: 1, totalThoughts: 3, nextThoughtNeeded: true }
  const text = await until(
    'the thought is kept',
    () => caller.call('thinking:sequentialthinking', thought),
    INSTALL_LIMIT_MS,
  )
  return (JSON.parse(text) as { thoughtHistoryLength: number }).thoughtHistoryLength
}
