/** A pod with a router as a sidecar. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixture, gateway, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

/** Prints the audiences of all tokens that the agent's container can read. */
const LOOK_FOR_TOKENS = `
import { readdirSync, readFileSync } from 'node:fs'
const places = ['/var/run/portolan', '/var/run/secrets']
const files = places.flatMap(place => {
  try { return readdirSync(place, { recursive: true }).map(name => place + '/' + name) } catch { return [] }
})
const tokens = files.filter(file => file.endsWith('/token'))
const claims = tokens.map(file => JSON.parse(Buffer.from(readFileSync(file, 'utf8').split('.')[1], 'base64url')))
console.log(JSON.stringify(claims.flatMap(({ aud }) => aud)))`

export const sidecarStories: Stories = (running, options) => {
  test('a labelled pod gets a sidecar router, whose token the agent cannot read', options, async t => {
    const space = await running().namespace('sidecars', t)
    await space.apply(server('kit', fixture()), gateway('tools', { router: { replicas: 1 } }))
    await space.untilServing('tools', { ready: 1 })
    const labels = { 'portolan.dev/gateway': 'tools' }
    const agent = await space.agent('tools', { labels, url: 'http://localhost:8080/mcp' })
    assert.equal((await agent.list()).length, 4)
    assert.equal((await agent.find('echo'))[0], 'kit:echo')
    assert.equal(await agent.call('kit:echo', { text: 'through localhost' }), 'through localhost')

    const audiences = JSON.parse(await agent.script(LOOK_FOR_TOKENS)) as string[]
    assert.ok(!audiences.includes('portolan'), audiences.join())
    const catalog = 'http://tools-gateway-admin.sidecars.svc:8081/catalog'
    assert.equal((await agent.get(catalog)).status, 401)
    const { kubectl } = running()
    const other = await kubectl('create', 'token', 'default', '--namespace', 'sidecars')
    assert.equal((await agent.get(catalog, { authorization: `Bearer ${other.trim()}` })).status, 401)
    const may = await kubectl(
      'auth',
      'can-i',
      '--as=system:serviceaccount:sidecars:default',
      'get',
      'secrets',
      '--namespace',
      'sidecars',
    ).catch(() => 'no')
    assert.match(may, /no/)

    await space.apply(server('late', fixture()))
    await space.untilServing('tools', { ready: 2 })
    assert.equal(await agent.call('late:echo', { text: 'came later' }), 'came later')
  })

  test('a pod that names a missing gateway is refused, and the error names it', options, async t => {
    const space = await running().namespace('no-gateway', t)
    const labels = { 'portolan.dev/gateway': 'absent' }
    await assert.rejects(space.agent('absent', { labels }), /absent/)
  })
}
