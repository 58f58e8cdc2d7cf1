/** What is read from the ConfigMaps that a gateway's auth names. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auth } from '../../crds/access.ts'
import { readAuthReferences } from './auth-references.ts'

const ISSUER = { name: 'own', issuer: 'https://id.example.com', audiences: ['a'] }

function read(given: object, configMaps: Record<string, Record<string, string>>) {
  return readAuthReferences(auth.parse({ jwt: [ISSUER], ...given }), new Map(Object.entries(configMaps)))
}

test('key sets and certificates are read from their ConfigMaps', () => {
  const jwt = [
    {
      ...ISSUER,
      keys: { configMapKeyRef: { name: 'keys', key: 'jwks' } },
      caBundle: { configMapKeyRef: { name: 'keys', key: 'ca' } },
    },
  ]
  const { issuers, problems } = read({ jwt }, { keys: { jwks: '{"keys":[]}', ca: 'PEM' } })
  assert.deepEqual(issuers.get('own'), { jwks: { keys: [] }, ca: 'PEM' })
  assert.deepEqual(problems, [])
  assert.deepEqual(
    read({ jwt }, { keys: { jwks: '<html>' } }).problems.map(({ reason, path }) => `${reason} ${path}`),
    [
      'KeyNotFound spec.auth.jwt[0].caBundle.configMapKeyRef',
      'Invalid spec.auth.jwt[0].keys.configMapKeyRef',
    ],
  )
})

test('revocations are read line by line, and a line that cannot be read is a problem', () => {
  const revoked = { configMapName: 'revoked' }
  const lines = '# left the company\nsub ada own\njti 7\nbefore 2026-01-31T12:00:00Z\n\n'
  assert.deepEqual(read({ revoked }, { revoked: { list: lines } }), {
    issuers: new Map([['own', {}]]),
    revoked: [
      { issuer: 'own', subject: 'ada' },
      { jti: '7' },
      { beforeMs: Date.parse('2026-01-31T12:00:00Z') },
    ],
    problems: [],
  })
  for (const line of [
    'sub',
    'sub ada other',
    'before yesterday',
    'before 1',
    'before 2026-01-31T12:00:00',
    'subject ada',
    'sub ada own more',
  ])
    assert.match(read({ revoked }, { revoked: { list: line } }).problems[0]?.message ?? '', /cannot read/)
  assert.equal(read({ revoked }, {}).problems[0]?.reason, 'ConfigMapNotFound')
})

test('of many unreadable revocations the first few are reported, and of too many lines the first 10,000 are read', () => {
  const revoked = { configMapName: 'revoked' }
  const messages = (list: string) => read({ revoked }, { revoked: { list } }).problems.map(one => one.message)
  const unreadable = messages('nonsense\n'.repeat(500))
  assert.deepEqual([unreadable.length, unreadable.at(-1)], [6, 'cannot read 495 more lines'])
  assert.deepEqual(messages('jti 7\n'.repeat(10_001)), ['has more than 10000 lines'])
})

test('names that every object inherits are no keys of a ConfigMap', () => {
  const jwt = [{ ...ISSUER, caBundle: { configMapKeyRef: { name: 'keys', key: 'constructor' } } }]
  const { issuers, problems } = read({ jwt }, { keys: {} })
  assert.deepEqual([issuers.get('own'), problems.map(({ reason }) => reason)], [{}, ['KeyNotFound']])
})
