/** What is read of the Secrets and ConfigMaps that manifests name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAuthReferences } from '../../core/catalog/auth-references.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { auth } from '../../crds/access.ts'
import { MAX_HEADER_CHARACTERS } from '../../crds/core-v1.ts'
import { References } from './reference-reader.ts'

const never = new AbortController().signal

function reading(object: KubeObject & { data: Record<string, string> }): References {
  return new References({
    client: { get: async <T extends KubeObject>() => object as unknown as T },
    metadataOf: () => object,
  })
}

function configMap(data: Record<string, string>) {
  const metadata = { name: 'auth', namespace: 'team', resourceVersion: '1' }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
}

test('a list of revoked tokens counts however long it is, and so do keys and certificates', async () => {
  const revoked = Array.from({ length: 2_000 }, (_, at) => `jti token-${at}`).join('\n')
  const references = reading(configMap({ revoked }))
  const [found] = await references.read('team', [{ kind: 'ConfigMap', name: 'auth', whole: true }], never)
  const spec = auth.parse({ revoked: { configMapName: 'auth' } })
  const read = readAuthReferences(spec, new Map([['auth', found?.values ?? {}]]))
  assert.deepEqual([read.revoked.length, read.problems], [2_000, []])
})

test('of a ConfigMap that only servers name no more is kept than shows that a value is too long for a header', async () => {
  const references = reading(configMap({ long: 'v'.repeat(100_000), line: `${'v'.repeat(8_192)}\r\n` }))
  const name = { kind: 'ConfigMap', name: 'auth' } as const
  const [whole] = await references.read('team', [{ ...name, whole: true }], never)
  const [found] = await references.read('team', [name], never)
  const { long = '', line = '' } = found?.values ?? {}
  assert.ok(long.length > MAX_HEADER_CHARACTERS && long.length < 10_000, `${long.length}`)
  assert.deepEqual([line.length, found?.digests], [8_194, whole?.digests])
  const [again] = await references.read('team', [{ ...name, whole: true }], never)
  assert.equal(again?.values?.long?.length, 100_000)
})

test('of a Secret only digests are kept', async () => {
  const references = reading({ ...configMap({ key: 'c2VjcmV0' }), kind: 'Secret' })
  const [found] = await references.read('team', [{ kind: 'Secret', name: 'auth' }], never)
  assert.deepEqual([Object.keys(found?.digests ?? {}), found?.values], [['key'], undefined])
})
