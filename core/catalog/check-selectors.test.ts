/** Selectors that can match nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseManifest } from '../../crds/parse.ts'
import { checkSelectors } from './check-selectors.ts'

function problemsOf(selector: object): (string | undefined)[] {
  const gateway = {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name: 'tools' },
    spec: { servers: { selector } },
  }
  const { manifest, problems } = parseManifest(gateway)
  assert.ok(manifest?.kind === 'McpGateway', JSON.stringify(problems))
  return checkSelectors(manifest.spec).map(({ path, message }) => `${path}: ${message}`)
}

const expressions = (...matchExpressions: object[]) => problemsOf({ matchExpressions })

test('a selector with a key or value that no label can have is invalid', () => {
  assert.deepEqual(problemsOf({ matchLabels: { team: 'plat form' } }), [
    'spec.servers.selector.matchLabels["team"]: "plat form" cannot be the value of a label: correct it',
  ])
  assert.equal(problemsOf({ matchLabels: { team: 'x'.repeat(64) } }).length, 1)
  assert.equal(problemsOf({ matchLabels: { '-team': 'a' } }).length, 1)
  assert.equal(problemsOf({ matchLabels: { 'a/b/c': 'a' } }).length, 1)
  assert.match(
    expressions({ key: 'team', operator: 'In', values: ['a', 'b c'] })[0] ?? '',
    /values\[1\]: "b c"/,
  )
  assert.deepEqual(problemsOf({ matchLabels: { 'portolan.dev/team': 'a.b_c-1', other: '' } }), [])
})

test('an operator with the wrong number of values is invalid', () => {
  assert.match(
    expressions({ key: 'a', operator: 'In' })[0] ?? '',
    /\[0\]\.values: In needs at least one value/,
  )
  assert.match(expressions({ key: 'a', operator: 'NotIn', values: [] })[0] ?? '', /NotIn needs/)
  assert.match(
    expressions({ key: 'a', operator: 'Exists', values: ['b'] })[0] ?? '',
    /Exists takes no values/,
  )
})

test('requirements that contradict each other are invalid, and others are not', () => {
  const is = (value: string) => ({ key: 'a', operator: 'In', values: [value] })
  const isNot = (...values: string[]) => ({ key: 'a', operator: 'NotIn', values })
  const exists = { key: 'a', operator: 'Exists' }
  const absent = { key: 'a', operator: 'DoesNotExist' }
  assert.match(expressions(is('x'), is('y'))[0] ?? '', /label "a" contradict each other/)
  assert.equal(expressions(is('x'), isNot('x')).length, 1)
  assert.equal(expressions(exists, absent).length, 1)
  assert.equal(problemsOf({ matchLabels: { a: 'x' }, matchExpressions: [absent] }).length, 1)
  assert.deepEqual(expressions(exists, isNot('x', 'otherx')), [])
  assert.deepEqual(expressions(absent, isNot('x')), [])
  assert.deepEqual(expressions({ key: 'a', operator: 'In', values: ['x', 'y'] }, isNot('x')), [])
})
