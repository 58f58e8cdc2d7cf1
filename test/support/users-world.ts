/** Users of a server as the operator may observe them: one waits for a pod, and another has had none for two days and has a volume. */
import { ANNOTATION } from '../../operator/plan/names.ts'
import type { UsersWorld } from '../../operator/plan/plan.ts'
import { NOW } from './plan-cases.ts'

const HOUR_MS = 3_600_000
const unused = { [ANNOTATION.unusedSince]: String(NOW - 50 * HOUR_MS) }
const metadata = { name: 'files', annotations: unused }

export const USERS_WORLD: UsersWorld = {
  demand: { isKnown: true, waiting: ['a'.repeat(64)], used: new Map() },
  usedAtMs: new Map(),
  instances: [],
  claims: [{ user: 'b'.repeat(64), claim: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata } }],
}
