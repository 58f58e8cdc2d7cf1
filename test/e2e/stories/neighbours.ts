/** Several gateways for the same servers, and namespaces that must not reach each other's servers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixture, gateway, gatewayOver, secret, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

export const neighbourStories: Stories = (running, options) => {
  test('two gateways offer what each selects of the same servers', options, async t => {
    const space = await running().namespace('two-gateways', t)
    await space.apply(
      server('shared', fixture(), { team: 'a', all: 'yes' }),
      server('single', fixture(), { team: 'b', all: 'yes' }),
      gatewayOver('narrow', { team: 'a' }),
      gatewayOver('wide', { all: 'yes' }),
    )
    await space.untilServing('narrow', { ready: 1 })
    await space.untilServing('wide', { ready: 2 })
    const narrow = await space.agent('narrow')
    const wide = narrow.at('http://wide-gateway.two-gateways.svc/mcp')
    assert.equal(await narrow.call('shared:echo', { text: 'narrow' }), 'narrow')
    assert.equal(await wide.call('shared:echo', { text: 'wide' }), 'wide')
    assert.equal(await wide.call('single:echo', { text: 'wide' }), 'wide')
    await assert.rejects(narrow.call('single:echo', { text: 'narrow' }), /single/)
  })

  test('a namespace cannot use the servers of another', options, async t => {
    const { namespace, kubectl } = running()
    const [ours, theirs] = [await namespace('ours', t), await namespace('theirs', t)]
    await ours.apply(server('mine', fixture()), gatewayOver('tools', {}))
    await theirs.apply(
      secret('password', { key: 'x' }),
      server('yours', fixture()),
      gateway('tools', { router: { replicas: 1 } }),
    )
    await ours.untilServing('tools', { ready: 1 })
    await theirs.untilServing('tools', { ready: 1 })

    const agent = await ours.agent('tools')
    await assert.rejects(agent.call('yours:echo', { text: 'x' }), /yours/)
    const router = '--as=system:serviceaccount:ours:tools-gateway'
    const may = (...what: string[]) => kubectl('auth', 'can-i', router, ...what).catch(() => 'no')
    assert.match(await may('get', 'secrets/mcp-mine', '--namespace', 'ours'), /yes/)
    for (const refused of [
      ['get', 'secrets/mcp-yours', '--namespace', 'theirs'],
      ['get', 'configmaps/yours-catalog-0', '--namespace', 'theirs'],
      ['list', 'secrets', '--namespace', 'ours'],
      ['get', 'secrets/tools-keys', '--namespace', 'ours'],
      ['list', 'pods', '--namespace', 'ours'],
      ['patch', 'configmaps/tools-router', '--namespace', 'ours'],
    ]) {
      assert.match(await may(...refused), /no/, refused.join(' '))
    }

    const url = 'http://mcp-yours.theirs.svc/mcp'
    assert.equal((await agent.get(url)).status, 401)
    const token = await kubectl(
      'get',
      'secret',
      'mcp-mine',
      '--namespace',
      'ours',
      '--output',
      'jsonpath={.data.token}',
    )
    const authorization = `Bearer ${Buffer.from(token, 'base64').toString()}`
    assert.equal((await agent.get(url, { authorization })).status, 401)
    // Requests that are let in get 406, since they accept no event stream.
    const accept = 'application/json'
    assert.equal((await agent.get('http://mcp-mine.ours.svc/mcp', { authorization, accept })).status, 406)
  })
}
