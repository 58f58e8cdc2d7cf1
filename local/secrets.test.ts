/** Values that manifests refer to: the places where they are looked up, the order, and the error if they are missing. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { expand, ValueResolver, variableOf } from './secrets.ts'

const secret = {
  apiVersion: 'v1' as const,
  kind: 'Secret' as const,
  metadata: { name: 'git-hub' },
  data: { a: Buffer.from('from data').toString('base64') },
  stringData: { token: 'from manifest' },
}
const configMap = {
  apiVersion: 'v1' as const,
  kind: 'ConfigMap' as const,
  metadata: { name: 'settings' },
  data: { mode: 'fast' },
}
const ref = (name: string, key: string) => ({ name: 'V', valueFrom: { secretKeyRef: { name, key } } })

test('a secret is taken from the manifests, then the folder, then the environment', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'git-hub'))
  for (const key of ['token', 'b']) writeFileSync(join(folder, 'git-hub', key), 'from folder\n')
  const env = { GIT_HUB_TOKEN: 'from env', GIT_HUB_B: 'from env', GIT_HUB_C_D: 'from env' }
  const values = new ValueResolver(
    { secrets: [secret], configMaps: [], imported: [], secretsFolder: folder, env },
    'default',
  )
  assert.deepEqual(await values.secret({ name: 'git-hub', key: 'token' }), { value: 'from manifest' })
  assert.deepEqual(await values.secret({ name: 'git-hub', key: 'a' }), { value: 'from data' })
  assert.deepEqual(await values.secret({ name: 'git-hub', key: 'b' }), { value: 'from folder' })
  assert.deepEqual(await values.secret({ name: 'git-hub', key: 'c.d' }), { value: 'from env' })
  assert.ok('problem' in (await values.secret({ name: '..', key: 'passwd' })))
  const other = new ValueResolver({ secrets: [secret], configMaps: [], imported: [], env: {} }, 'other')
  assert.ok('problem' in (await other.secret({ name: 'git-hub', key: 'token' })))
})

test('the problem of a missing secret names the three places and the field; an optional one is left out', async () => {
  const values = new ValueResolver({ secrets: [], configMaps: [], imported: [], env: {} }, 'default')
  const optional = { name: 'O', valueFrom: { secretKeyRef: { name: 'x', key: 'y', optional: true } } }
  const { values: found, problems } = await values.env([optional, ref('git-hub', 'token')], [])
  assert.deepEqual(found, {})
  assert.equal(problems.length, 1)
  assert.equal(problems[0]?.reason, 'SecretNotFound')
  assert.equal(problems[0]?.path, 'spec.env[1].valueFrom')
  assert.match(problems[0]?.message ?? '', /Secret manifest.*git-hub\/token.*--secrets.*GIT_HUB_TOKEN/)
})

test('env takes precedence over envFrom, values can refer to earlier names, and ConfigMaps are read', async () => {
  const values = new ValueResolver(
    { secrets: [secret], configMaps: [configMap], imported: [], env: {} },
    'default',
  )
  const { values: env, problems } = await values.env(
    [
      { name: 'P_token', value: 'over' },
      { name: 'MODE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } },
      { name: 'URL', value: 'x/$(MODE)/$(NONE)/$$(MODE)' },
    ],
    [{ prefix: 'P_', secretRef: { name: 'git-hub' } }, { configMapRef: { name: 'gone', optional: true } }],
  )
  assert.deepEqual(problems, [])
  assert.deepEqual(env, { P_token: 'over', P_a: 'from data', MODE: 'fast', URL: 'x/fast/$(NONE)/$(MODE)' })
})

test('names of variables are upper case with underscores, and $$ escapes a reference', () => {
  assert.equal(variableOf({ name: 'my-app', key: 'api.key' }), 'MY_APP_API_KEY')
  assert.equal(expand('$(A)$$(A)$(B)', { A: '1' }), '1$(A)$(B)')
})

test('names that every object inherits are no values', async () => {
  assert.equal(expand('$(constructor) $(toString)', {}), '$(constructor) $(toString)')
  const values = new ValueResolver(
    { secrets: [secret], configMaps: [configMap], imported: [], env: {} },
    'default',
  )
  assert.ok('problem' in (await values.secret({ name: 'git-hub', key: 'constructor' })))
  const configMapKeyRef = { name: 'settings', key: 'constructor' }
  const { values: found, problems } = await values.env([{ name: 'A', valueFrom: { configMapKeyRef } }], [])
  assert.deepEqual([found, problems.length], [{}, 1])
})

test('a ConfigMap without data has no variables, and is not missing', async () => {
  const { data: _, ...empty } = configMap
  const values = new ValueResolver({ secrets: [], configMaps: [empty], imported: [], env: {} }, 'default')
  const { values: found, problems } = await values.env([], [{ configMapRef: { name: 'settings' } }])
  assert.deepEqual([found, problems], [{}, []])
})
