/** Which addresses discovery does not connect to. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { discoveryGuard } from './discovery-guard.ts'

test('discovery connects neither to refused addresses nor to those of the API server', () => {
  const permitted = { podFields: [], registries: [], remoteHosts: [], refusedAddresses: ['10.0.0.0/8'] }
  const guard = discoveryGuard({ settings: { permitted }, apiServer: ['192.0.2.1', '2001:db8::1'] })
  for (const host of ['10.1.1.1', '192.0.2.1', '[2001:db8::1]'])
    assert.throws(() => guard.check(new URL(`https://${host}/mcp`)), { code: 'upstream_unreachable' }, host)
  guard.check(new URL('https://192.0.2.2/mcp'))
})
