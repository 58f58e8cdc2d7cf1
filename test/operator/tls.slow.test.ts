/** Servers with `tls`: the operator makes and renews their certificates, or uses those of others, and tells callers whom to trust. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { V1Secret, V1Service } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { FORMER_MS } from '../../operator/controllers/certificates.ts'
import { createSelfSigned, LIFETIME_MS } from '../../operator/runtime/self-signed.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { conditionOf, createWorld, type World } from './world.ts'

const skip = skipApiServer()
const spec = { npm: { package: 'web', version: '1.0.0' }, tls: true }
const HOUR_MS = 60 * 60_000

const api = apiServerOfTests(skip)

test('a certificate is created, replaced if it is deleted, renewed before it expires, and deleted with `tls`', {
  skip,
}, async t => {
  const world = await worldOf(t, 'made')
  await world.server('web', spec)
  const first = await untilCertificate(world, () => true)
  await untilTrusted(world, [first])
  await until(async () => {
    const service = await world.get<Kube<V1Service>>('v1', 'Service', 'mcp-web')
    const [port] = service?.spec?.ports ?? []
    return port?.name === 'https' && port.port === 443
  })
  await world.delete('Secret', 'mcp-web.tls')
  const second = await untilCertificate(world, found => found !== first)
  await untilTrusted(world, [second, first])
  world.clock.advance(FORMER_MS)
  await untilTrusted(world, [second])
  // In steps of a day: the operator waits no longer at a time, so that no timer overflows.
  for (let passed = 0; passed < LIFETIME_MS; passed += 24 * HOUR_MS) world.clock.advance(24 * HOUR_MS)
  const third = await untilCertificate(world, found => found !== second)
  await untilTrusted(world, [third, second])
  await world.server('web', { ...spec, tls: false })
  await until(async () => !(await world.get('v1', 'Secret', 'mcp-web.tls')))
})

test('a certificate of another program is used unchanged, and only replaced after it has been missing for an hour', {
  skip,
}, async t => {
  const world = await worldOf(t, 'theirs')
  const theirs = await createSelfSigned('mcp-web.theirs.svc', Date.now())
  await provide(world, theirs)
  await world.server('web', spec)
  await untilTrusted(world, [theirs.cert])
  await world.delete('Secret', 'mcp-web.tls')
  await world.quiet()
  assert.equal(await world.get('v1', 'Secret', 'mcp-web.tls'), undefined)
  const renewed = await createSelfSigned('mcp-web.theirs.svc', Date.now())
  await provide(world, renewed)
  await untilTrusted(world, [renewed.cert, theirs.cert])
  assert.equal(await certificateOf(world), renewed.cert)
  await world.delete('Secret', 'mcp-web.tls')
  await world.quiet()
  world.clock.advance(HOUR_MS)
  await untilCertificate(world, found => found !== renewed.cert)
})

test('a certificate that callers would not accept is reported in Accepted', { skip }, async t => {
  const world = await worldOf(t, 'wrong')
  await provide(world, await createSelfSigned('mcp-other.wrong.svc', Date.now()))
  await world.server('web', spec)
  const { status } = await world.until('web', found =>
    /is not for mcp-web\.wrong\.svc/.test(conditionOf(found.status, 'Accepted')?.message ?? ''),
  )
  assert.equal(conditionOf(status, 'Accepted')?.status, 'True')
})

function worldOf(t: TestContext, namespace: string): Promise<World> {
  return createWorld(t, api().access, namespace)
}

/** As cert-manager or a person does: with another field manager, and no owner. */
function provide(world: World, { cert, key }: { cert: string; key: string }) {
  const stringData = { 'tls.crt': cert, 'tls.key': key }
  const metadata = { name: 'mcp-web.tls' }
  return world.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'kubernetes.io/tls',
    stringData,
  } as Kube<V1Secret>)
}

async function certificateOf(world: World): Promise<string | undefined> {
  return textOf(await world.get<Kube<V1Secret>>('v1', 'Secret', 'mcp-web.tls'), 'tls.crt')
}

function untilCertificate(world: World, check: (certificate: string) => boolean): Promise<string> {
  return until(`a certificate: ${check}`, async () => {
    const found = await certificateOf(world)
    return found !== undefined && check(found) && found
  })
}

async function untilTrusted(world: World, certificates: string[]): Promise<void> {
  await until(async () => {
    const secret = await world.get<Kube<V1Secret>>('v1', 'Secret', 'mcp-web')
    return textOf(secret, 'ca.crt') === certificates.join('') && textOf(secret, 'token') !== undefined
  })
}

function textOf(secret: Kube<V1Secret> | undefined, key: string): string | undefined {
  const value = secret?.data?.[key]
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString()
}
