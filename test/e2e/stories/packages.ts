/** What pods install is recorded, and compared by later pods. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1ConfigMap } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../../core/kube/object.ts'
import { type PackageRecord, parseKnown } from '../../../core/packages/integrity.ts'
import { APPROVE_ANNOTATION } from '../../../crds/annotations.ts'
import { until } from '../../support/until.ts'
import { server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

const NPM = {
  package: '@modelcontextprotocol/server-everything',
  version: '2026.8.31',
  args: ['stdio'],
}
const RECORDS = { apiVersion: 'v1', kind: 'ConfigMap', name: 'kit-packages' }
const KEY = 'packages.json'
const OTHER = 'sha512-other'

export const packageStories: Stories = (running, options) => {
  test(
    'a package with other content than was recorded does not start until it is approved',
    options,
    async t => {
      const { client, ...portolan } = running()
      const space = await portolan.namespace('packages', t)
      const { name: namespace } = space
      const records = async (): Promise<readonly PackageRecord[]> => {
        const found = await client.get<Kube<V1ConfigMap>>({ ...RECORDS, namespace })
        return parseKnown(found?.data?.[KEY] ?? '').records
      }
      const replacePod = async () => {
        const pods = await space.pods('kit')
        await space.delete(...pods.map(({ metadata }) => ({ apiVersion: 'v1', kind: 'Pod', metadata })))
      }
      await space.apply(server('kit', { npm: NPM }))
      await space.untilReady('kit')
      const [record, ...more] = await until('the package is recorded', records)
      assert.ok(record && more.length === 0)
      assert.deepEqual([record.package, record.version], [NPM.package, NPM.version])

      // As if the registry had other content when the version was first installed.
      const { apiVersion, kind, name } = RECORDS
      const data = { [KEY]: JSON.stringify({ records: [{ ...record, integrity: OTHER }] }) }
      await space.apply({ apiVersion, kind, metadata: { name }, data } as KubeObject)
      await until('the pod that runs is named', async () => {
        const { conditions = [] } = (await space.server('kit'))?.status ?? {}
        return conditions.some(({ message }) => /runs other content of @modelcontextprotocol/.test(message))
      })
      await replacePod()
      const refused = await space.untilSaid('kit', 'Ready', 'IntegrityChanged')
      assert.ok(refused.message.includes(`its integrity is ${record.integrity}, it was ${OTHER}.`))
      assert.match(refused.message, /set the annotation portolan\.dev\/approve of the McpServer to sha512-/)
      assert.equal((await records())[0]?.integrity, OTHER)

      const approved = server('kit', { npm: NPM })
      approved.metadata.annotations = { [APPROVE_ANNOTATION]: record.integrity }
      await space.apply(approved)
      await until('the approval is kept', async () => {
        const found = await client.get<Kube<V1ConfigMap>>({ ...RECORDS, namespace })
        return parseKnown(found?.data?.[KEY] ?? '').approved === record.integrity
      })
      await replacePod()
      await space.untilReady('kit')
      await until('it is recorded', async () => (await records())[0]?.integrity === record.integrity)
    },
  )
}
