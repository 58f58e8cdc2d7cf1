/** What users change, and what agents then see. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../support/until.ts'
import { fixture, gateway, gatewayOver, secret, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

const TEAM = { team: 'one' }
const fromSecret = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'login', key: 'token' } } }]

export const changeStories: Stories = (running, options) => {
  test('a server leaves a gateway if its label changes, and returns if it is restored', options, async t => {
    const space = await running().namespace('labels', t)
    await space.apply(
      server('stays', fixture(), TEAM),
      server('moves', fixture(), TEAM),
      gatewayOver('tools', TEAM),
    )
    await space.untilServing('tools', { ready: 2 })
    const agent = await space.agent('tools')
    assert.equal(await agent.call('moves:echo', { text: 'in' }), 'in')

    await space.apply(server('moves', fixture(), { team: 'other' }))
    await space.untilServing('tools', { ready: 1 })
    await assert.rejects(agent.call('moves:echo', { text: 'out' }), /no tool "moves:echo"|no server/i)
    assert.deepEqual(
      (await agent.find('moves:echo')).filter(path => path.startsWith('moves:')),
      [],
    )
    assert.equal(await agent.call('stays:echo', { text: 'still' }), 'still')

    await space.apply(server('moves', fixture(), TEAM))
    await space.untilServing('tools', { ready: 2 })
    assert.equal(await agent.call('moves:echo', { text: 'in again' }), 'in again')
  })

  test('a new version of a package replaces the pod, and calls are answered meanwhile', options, async t => {
    const space = await running().namespace('versions', t)
    const name = '@modelcontextprotocol/server-everything'
    const version = (number: string) =>
      server('kit', { npm: { package: name, version: number, args: ['stdio'] } })
    await space.apply(version('2026.8.18'), gateway('tools', { router: { replicas: 1 } }))
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    const [old] = await space.pods('kit')
    await space.apply(version('2026.8.31'))
    assert.match(await agent.call('kit:echo', { message: 'while it updates' }), /while it updates/)
    await space.untilReady('kit')
    const now = (await space.pods('kit')).filter(pod => !pod.metadata.deletionTimestamp)
    assert.equal(now.length, 1)
    assert.notEqual(now[0]?.metadata.name, old?.metadata.name)
    assert.match(JSON.stringify(now[0]?.spec?.initContainers), /2026\.8\.31/)
    assert.match(await agent.call('kit:echo', { message: 'the new one' }), /the new one/)
  })

  test('a changed Secret reaches the server, and a missing Secret or key is reported', options, async t => {
    const space = await running().namespace('rotation', t)
    await space.apply(
      server('vault', { ...fixture(), env: fromSecret }),
      gateway('tools', { router: { replicas: 1 } }),
    )
    const refused = await space.untilSaid('vault', 'Accepted', 'SecretNotFound')
    assert.match(refused.message, /login/)
    await space.apply(secret('login', { other: 'x' }))
    const keyless = await space.untilSaid('vault', 'Accepted', 'KeyNotFound')
    assert.match(keyless.message, /token/)

    await space.apply(secret('login', { token: 'first' }))
    await space.untilReady('vault')
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    const token = async () => (JSON.parse(await agent.call('vault:environment')) as { TOKEN: string }).TOKEN
    assert.equal(await token(), 'first')
    await space.apply(secret('login', { token: 'second' }))
    await until('the server has the new token', async () => (await token()) === 'second')
    await space.untilReady('vault')
  })

  test('a broken image is reported while the old pods serve, and can be corrected', options, async t => {
    const space = await running().namespace('images', t)
    await space.apply(server('kit', fixture()), gateway('tools', { router: { replicas: 1 } }))
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    await space.apply(server('kit', { image: { name: 'portolan-test/no-such:1', command: ['/server'] } }))
    const failed = await space.untilSaid('kit', 'Ready', 'ImagePullFailed')
    assert.match(failed.message, /portolan-test\/no-such:1/)
    const conditions = (await space.server('kit'))?.status?.conditions ?? []
    const statusOf = (type: string) => conditions.find(condition => condition.type === type)?.status
    assert.deepEqual([statusOf('Available'), statusOf('Progressing')], ['True', 'False'])
    assert.equal(await agent.call('kit:echo', { text: 'the old one' }), 'the old one')
    await space.apply(server('kit', fixture()))
    await space.untilReady('kit')
    assert.equal(await agent.call('kit:echo', { text: 'mended' }), 'mended')
  })

  test('when a server and a gateway are deleted, none of their objects is left', options, async t => {
    const space = await running().namespace('deletion', t)
    const before = await space.made()
    await space.apply(server('kit', fixture()), gateway('tools'))
    await space.untilReady('kit')
    await space.untilServing('tools', { ready: 1 })
    assert.ok((await space.made()).length > before.length + 8)
    await space.delete(server('kit', fixture()))
    await until(
      'nothing of the server is left',
      async () => !(await space.made()).some(name => /kit/.test(name)),
    )
    await space.untilSaidOfGateway('tools', 'Ready', 'NoServersSelected')
    await space.delete(gateway('tools'))
    await until('nothing of the gateway is left', async () => (await space.made()).join() === before.join())
  })

  test('applying unchanged manifests again changes no object', options, async t => {
    const space = await running().namespace('again', t)
    const manifests = [server('kit', fixture()), gateway('tools', { router: { replicas: 1 } })]
    await space.apply(...manifests)
    await space.untilReady('kit')
    await space.untilServing('tools', { ready: 1 })
    const versions = await space.quietVersions()
    await space.apply(...manifests)
    await running().kubectl('annotate', '--namespace', 'again', 'mcpserver/kit', 'unrelated=yes')
    await until(
      'the server has the annotation',
      async () => (await space.server('kit'))?.metadata.annotations?.unrelated,
    )
    const { 'McpServer kit': _, ...others } = await space.quietVersions()
    const { 'McpServer kit': __, ...othersBefore } = versions
    assert.deepEqual(others, othersBefore)
  })
}
