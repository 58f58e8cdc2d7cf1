/** Servers of every kind as pods, and what the status says of those that cannot run. All pods meet the strictest pod security standard. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpServerSpecInput } from '../../../crds/server.ts'
import { until } from '../../support/until.ts'
import { FIXTURES, gateway, secret, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

const http: McpServerSpecInput['image'] = {
  name: FIXTURES,
  args: ['sdk1', 'stateless', '3000'],
  transport: 'http',
  port: 3_000,
}
const fromSecret = { valueFrom: { secretKeyRef: { name: 'login', key: 'token' } } }

export const kindStories: Stories = (running, options) => {
  test('an image without libc or shell serves behind the bridge', options, async t => {
    const space = await running().namespace('scratch', t)
    await space.apply(
      server('bare', { image: { name: 'portolan-test/scratch:1', command: ['/server'] } }),
      gateway('tools', { router: { replicas: 1 } }),
    )
    await space.untilReady('bare')
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    assert.match(await agent.call('bare:echo', { text: 'out of nothing' }), /out of nothing/)
  })

  test('an image that speaks HTTP is used as it is', options, async t => {
    const space = await running().namespace('http', t)
    await space.apply(server('web', { image: http }), gateway('tools', { router: { replicas: 1 } }))
    await space.untilReady('web')
    const open = await space.untilSaid('web', 'Accepted', 'Accepted')
    assert.match(open.message, /serves HTTP itself and is sent no credential/)
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    assert.match(await agent.call('web:echo', { text: 'over HTTP', message: 'over HTTP' }), /over HTTP/)
  })

  test('a server that requires a login is reported, and works once it has the header', options, async t => {
    const space = await running().namespace('login', t)
    const locked = { image: http, env: [{ name: 'TOKEN', ...fromSecret }] }
    await space.apply(
      secret('login', { token: 'open-sesame', header: 'Bearer open-sesame' }),
      server('vault', locked),
      gateway('tools', { router: { replicas: 1 } }),
    )
    await space.untilSaid('vault', 'Ready', 'AuthRequired')
    const ref = { secretKeyRef: { name: 'login', key: 'header' } }
    await space.apply(server('vault', { ...locked, headers: [{ name: 'Authorization', valueFrom: ref }] }))
    await space.untilReady('vault')
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    assert.match(await agent.call('vault:echo', { text: 'inside', message: 'inside' }), /inside/)
    await space.apply(secret('login', { token: 'changed', header: 'Bearer changed' }))
    const again = () => agent.call('vault:echo', { text: 'again', message: 'again' })
    await until('server and gateway have the new Secret', async () => /again/.test(await again()))
    await space.apply(secret('login', { token: 'changed', header: 'Bearer changed\nX-Other: b' }))
    const { message } = await space.untilSaid('vault', 'ToolsDiscovered', 'Invalid')
    assert.match(message, /key header of Secret login is no header/)
    assert.doesNotMatch(message, /changed/)
  })

  test('a server that crashes is reported with its last output', options, async t => {
    const space = await running().namespace('crash', t)
    const script = 'console.error("cannot reach the database at db:5432"); process.exit(3)'
    await space.apply(server('broken', { image: { name: FIXTURES, command: ['node', '-e', script] } }))
    const { message } = await space.untilSaid('broken', 'Ready', 'CrashLooping')
    assert.match(message, /cannot reach the database at db:5432/)
  })

  test(
    'a command that is not in the image and a package that does not exist are reported as such',
    options,
    async t => {
      const space = await running().namespace('absent', t)
      await space.apply(
        server('no-command', { image: { name: FIXTURES, command: ['/no/such/program'] } }),
        server('no-package', { npm: { package: 'no-such-package-of-portolan', version: '1.0.0' } }),
      )
      const [command, installed] = await Promise.all([
        space.untilSaid('no-command', 'Ready', 'CommandNotFound'),
        space.untilSaid('no-package', 'Ready', 'InstallFailed'),
      ])
      assert.match(command.message, /\/no\/such\/program/)
      assert.match(installed.message, /no-such-package-of-portolan/)
    },
  )

  test('a server that only laptops can run is not accepted', options, async t => {
    const space = await running().namespace('refused', t)
    await space.apply(server('local', { command: { run: 'python' } }))
    const { message } = await space.untilSaid('local', 'Accepted', 'LocalOnly')
    assert.match(message, /npm|image/)
  })
}
