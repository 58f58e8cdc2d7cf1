/** What users can rely on: missing Secrets do no harm, changes by hand are undone, reasons are true, and no gateway is open to everybody. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Ingress, V1Role } from '@kubernetes/client-node'
import type { Kube } from '../../../core/kube/object.ts'
import { until } from '../../support/until.ts'
import { FIXTURES, fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

const TOKEN = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'login', key: 'token' } } }]
const HUNGRY = 'const all = []; setInterval(() => all.push(Buffer.alloc(4e6, 1)), 5)'
const LIMIT = { requests: { memory: '64Mi' }, limits: { memory: '160Mi' } }

export const trustStories: Stories = (running, options) => {
  test(
    'a Secret that is deleted and made again hides no tool, and replaces no pod if its content is equal',
    options,
    async t => {
      const { kubectl, namespace } = running()
      const space = await namespace('away', t)
      const pods = async () => (await space.pods('vault')).map(({ metadata }) => metadata.name)
      await space.apply(
        secret('login', { token: 'first' }),
        server('vault', { ...fixture(), env: TOKEN }),
        gateway('tools', { router: { replicas: 1 } }),
      )
      await space.untilServing('tools', { ready: 1 })
      const agent = await space.agent('tools')
      const before = await pods()
      await kubectl('--namespace', space.name, 'delete', 'secret/login')
      const away = await space.untilSaid('vault', 'Accepted', 'SecretNotFound')
      assert.equal(away.status, 'True')
      assert.match(await agent.describe('environment'), /vault:environment/)
      assert.match(await agent.call('vault:environment'), /first/)
      const again = secret('login', { token: 'first', other: 'key' })
      Object.assign(again.metadata, { annotations: { note: 'of nobody' }, labels: { a: 'b' } })
      await space.apply(again)
      await space.untilSaid('vault', 'Accepted', 'Accepted')
      await space.untilReady('vault')
      assert.deepEqual(await pods(), before)
    },
  )

  test(
    'a right that was added by hand is removed, and a server whose name is taken by another Service says so',
    options,
    async t => {
      const { client, kubectl, namespace } = running()
      const space = await namespace('drift', t)
      const own = (...args: string[]) => kubectl('--namespace', space.name, ...args)
      await own('create', 'service', 'clusterip', 'mcp-taken', '--tcp=80')
      await space.apply(
        server('taken', fixture()),
        server('kit', fixture()),
        gateway('tools', { router: { replicas: 1 } }),
      )
      await space.untilServing('tools', { ready: 1 })
      const taken = await space.untilSaid('taken', 'Accepted', 'NameTaken')
      assert.match(taken.message, /mcp-taken/)
      const role = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        namespace: space.name,
        name: 'tools-gateway',
      }
      const rules = async () => (await client.get<Kube<V1Role>>(role))?.rules ?? []
      const before = await rules()
      const added = { apiGroups: [''], resources: ['secrets'], verbs: ['list'] }
      const patch = [{ op: 'add', path: '/rules/-', value: added }]
      await own('patch', 'role/tools-gateway', '--type=json', '--patch', JSON.stringify(patch))
      await until('the right is gone', async () => JSON.stringify(await rules()) === JSON.stringify(before))
      await until('an event says so', async () =>
        (await own('get', 'events', '--output', 'jsonpath={.items[*].reason}')).includes('DriftRemoved'),
      )
    },
  )

  test(
    'a server with too little memory has the reason OOMKilled, and its gateway NoServersReady',
    options,
    async t => {
      const { namespace } = running()
      const space = await namespace('hungry', t)
      const command = ['/usr/local/bin/node', '--eval', HUNGRY]
      await space.apply(
        server('hungry', { image: { name: FIXTURES, command }, pod: { resources: LIMIT } }),
        gateway('tools', { router: { replicas: 1 } }),
      )
      await space.untilSaid('hungry', 'Ready', 'OOMKilled')
      await space.untilSaidOfGateway('tools', 'Ready', 'NoServersReady')
    },
  )

  test(
    'an exposed gateway is refused while anybody may call it, and gets its Ingress with named callers',
    options,
    async t => {
      const { client, namespace } = running()
      const space = await namespace('exposed', t)
      const router = { replicas: 1, expose: { ingress: { className: 'none', host: 'mcp.example.com' } } }
      await space.apply(server('kit', fixture()), gateway('tools', { router }))
      await space.untilSaidOfGateway('tools', 'Accepted', 'AnonymousAndExposed')
      const ingress = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', namespace: space.name }
      const ingressSpec = async () =>
        (await client.get<Kube<V1Ingress>>({ ...ingress, name: 'tools-gateway' }))?.spec
      // Objects that lead to the routers may exist already, but no router answers.
      assert.deepEqual(await space.pods('tools'), [])
      await space.apply(
        secret('callers', { ann: 'a-token-of-at-least-thirty-two-characters' }),
        gateway('tools', { router, auth: { tokens: { secretName: 'callers' } } }),
      )
      await space.untilServing('tools', { ready: 1 })
      const made = await until('the Ingress is there', ingressSpec)
      assert.equal(made.rules?.[0]?.host, 'mcp.example.com')
    },
  )
}
