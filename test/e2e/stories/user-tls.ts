/** Pods of users of a server with TLS: called by their own names, with the one certificate of the server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { until } from '../../support/until.ts'
import { tokenOf } from '../../users/as-user.ts'
import { callerOf } from '../support/caller.ts'
import { fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Namespace } from '../support/namespace.ts'
import type { Portolan } from '../support/portolan.ts'
import type { Stories } from '../support/story.ts'
import { idOf } from '../support/users.ts'

const NAMES = ['ada', 'ben']

export const userTlsStories: Stories = (running, options) => {
  test('calls of users go over TLS, even after the certificate was replaced', options, async t => {
    const portolan = running()
    const space = await portolan.namespace('user-tls', t)
    await space.apply(
      secret('callers', Object.fromEntries(NAMES.map(name => [name, tokenOf(name)]))),
      server('kit', { ...fixture(), sessions: 'perUser', tls: true }),
      gateway('tools', { router: { replicas: 1 }, auth: { tokens: { secretName: 'callers' } } }),
    )
    await space.untilServing('tools', { ready: 1 })
    const callOf = async (name: string) => {
      const caller = await callerOf(portolan.cluster, space.name, 'tools', tokenOf(name))
      t.after(() => caller.stop())
      return (text: string) => caller.call('kit:echo', { text })
    }
    const ada = await callOf('ada')
    assert.equal(await ada('sealed'), 'sealed')
    const first = await certificateOf(portolan, space, idOf('ada'), t)
    assert.equal(first.subjectaltname, `DNS:mcp-kit.${space.name}.svc`)

    await portolan.kubectl('delete', 'secret/mcp-kit.tls', '--namespace', space.name)
    await until('there is another certificate', async () =>
      (await space.made()).includes('Secret mcp-kit.tls'),
    )
    // Ben's pod starts with the new certificate, while Ada's has the former one.
    const ben = await callOf('ben')
    assert.equal(await ben('sealed too'), 'sealed too')
    assert.notEqual(
      (await certificateOf(portolan, space, idOf('ben'), t)).fingerprint256,
      first.fingerprint256,
    )
    assert.equal(await ada('as before'), 'as before')
  })
}

async function certificateOf({ cluster }: Portolan, { name }: Namespace, user: string, t: TestContext) {
  const forward = await cluster.forward({ namespace: name, name: `mcp-kit-u-${user}`, port: 443 })
  t.after(forward.stop)
  const socket = connect({ host: '127.0.0.1', port: forward.port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerCertificate()
  socket.destroy()
  return certificate
}
