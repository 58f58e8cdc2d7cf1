/** What the options of the command line change in a gateway's config. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolve } from '../core/catalog/resolve.ts'
import { profile } from '../crds/gateway.ts'
import { overridden } from './overrides.ts'

function configOf(runsScripts: boolean) {
  return resolve({ servers: [], observed: new Map(), placement: 'local', runsScripts, now: 0 }).config
}

test('the profile code is served only by a gateway that runs scripts', () => {
  const given = { profile: 'code', allowedProfiles: profile.options } as const
  const without = overridden(configOf(false), given)
  assert.deepEqual(without.allowedProfiles.toSorted(), ['direct', 'hierarchical', 'registry', 'search'])
  assert.equal(without.profile, 'hierarchical')
  const running = overridden(configOf(true), given)
  assert.deepEqual(running.allowedProfiles.toSorted(), profile.options.toSorted())
  assert.equal(running.profile, 'code')
  assert.ok(overridden(configOf(true), { runsScripts: true }).allowedProfiles.includes('code'))
})
