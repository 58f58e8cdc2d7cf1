/** Kubernetes' roles view, edit and admin include rights on our kinds, on a real API server. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ApiServer, skipApiServer, startApiServer } from '../support/api-server.ts'
import { allowed, every } from './allowed.ts'
import { type Helm, helmAlone, objectsOf } from './helm.ts'
import { inForce } from './in-force.ts'

const skip = skipApiServer()
const NAMESPACE = 'team-a'
const SERVERS = 'mcpservers.portolan.dev'
const GATEWAYS = 'mcpgateways.portolan.dev'
const SCRIPTS = 'mcpscripts.portolan.dev'
const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection']
const READ = every(['get', 'list', 'watch'], [SERVERS, GATEWAYS, SCRIPTS])
const STATUS = every(['update', 'patch'], [`${SERVERS}/status`, `${GATEWAYS}/status`, `${SCRIPTS}/status`])
const ROLES = {
  view: READ,
  edit: [...READ, ...every(WRITE, [SERVERS])],
  admin: [...READ, ...every(WRITE, [SERVERS]), ...every(WRITE, [GATEWAYS, SCRIPTS])],
}

let server: ApiServer
let helm: Helm

before(async () => {
  if (skip) return
  server = await startApiServer({ controllers: ['clusterrole-aggregation-controller'] })
  helm = helmAlone()
  await server.namespace(NAMESPACE)
  const roles = objectsOf(await helm.render()).filter(({ metadata }) =>
    Object.keys(ROLES).some(role => metadata.name === `portolan-${role}`),
  )
  assert.equal(roles.length, 3)
  await server.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: roles }))
})
after(async () => {
  helm?.end()
  await server?.stop()
})

for (const [role, rights] of Object.entries(ROLES)) {
  for (const name of [role, `portolan-${role}`])
    test(`the ClusterRole ${name} grants the rights to our kinds that belong to it`, {
      skip,
    }, async () => {
      await server.kubectl([
        'create',
        'rolebinding',
        name,
        `--clusterrole=${name}`,
        `--user=${name}`,
        `--namespace=${NAMESPACE}`,
      ])
      await inForce(async () => {
        const asked = [...ROLES.admin, ...STATUS]
        assert.deepEqual(await allowed(server, NAMESPACE, asked, { user: name }), rights)
      })
      assert.deepEqual(await allowed(server, 'default', ROLES.admin, { user: name }), [])
    })
}

test('with policy.roles: false the chart has no roles for people', { skip }, async () => {
  const objects = objectsOf(await helm.render({ policy: { roles: false } }))
  const names = objects.filter(({ kind }) => kind === 'ClusterRole').map(({ metadata }) => metadata.name)
  assert.deepEqual(names.sort(), ['portolan', 'portolan-crds'])
})
