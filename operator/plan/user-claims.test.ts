/** How long the volume of a user is kept after the user's last pod. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { API_VERSION } from '../../crds/object-meta.ts'
import { parseManifest } from '../../crds/parse.ts'
import { NOW, SETTINGS } from '../../test/support/plan-cases.ts'
import { USERS_WORLD } from '../../test/support/users-world.ts'
import { ANNOTATION } from './names.ts'
import { userClaims } from './user-claims.ts'

const DAY_MS = 24 * 3_600_000

/** What is planned for a claim that nobody uses, whose annotation about this is `unusedSince`. */
function plan(unusedSince: string) {
  const { manifest: server, problems } = parseManifest({
    apiVersion: API_VERSION,
    kind: 'McpServer',
    metadata: { name: 'files', namespace: 'team' },
    spec: {
      npm: { package: 'a' },
      sessions: 'perUser',
      users: { volume: { size: '1Gi', retainFor: '24h' } },
    },
  })
  assert.ok(server?.kind === 'McpServer', JSON.stringify(problems))
  const claims = USERS_WORLD.claims.map(({ user, claim }) => ({
    user,
    claim: { ...claim, metadata: { name: 'files', annotations: { [ANNOTATION.unusedSince]: unusedSince } } },
  }))
  const world = { references: [], pods: [], otherContent: [], taken: [], claims: [], settings: SETTINGS }
  const { objects, afterMs } = userClaims(
    { ...world, server, users: { ...USERS_WORLD, claims }, now: NOW },
    [],
  )
  return { since: objects[0]?.metadata.annotations?.[ANNOTATION.unusedSince], afterMs }
}

test('an unused claim is kept for `retainFor`', () => {
  const since = NOW - DAY_MS + 1_000
  assert.deepEqual(plan(String(since)), { since: String(since), afterMs: 1_000 })
  assert.deepEqual(plan(String(NOW - DAY_MS)), { since: undefined, afterMs: undefined })
})

test('a claim whose annotation is not a valid time counts as unused from now on', () => {
  for (const written of ['x', 'NaN', 'Infinity', '', '  ', '1e3', '0x1', '9'.repeat(400)])
    assert.deepEqual(plan(written), { since: String(NOW), afterMs: DAY_MS }, written)
})
