/** The environment of a router: defaults, and an error for each mistake. */
import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import { modelFileOf } from '../core/encoder/model-place.ts'
import { routerSettings } from './config.ts'

test('the only setting that a router requires is its gateway', async () => {
  const { settings } = await routerSettings({
    env: { PORTOLAN_GATEWAY: 'tools', PORTOLAN_POD: 'tools-gateway-5d9-abc', PORTOLAN_PORT: '' },
  })
  assert.deepEqual(settings, {
    gateway: 'tools',
    namespace: undefined,
    pod: 'tools-gateway-5d9-abc',
    podAddress: undefined,
    peers: undefined,
    drainMs: 25_000,
    trustedCertificates: undefined,
    host: '::',
    port: 8080,
    adminPort: 8081,
    allowedHosts: ['*'],
    sessionKeyFile: undefined,
    loginKeyFile: undefined,
    remotes: { remoteHosts: [], refusedAddresses: [] },
    modelFile: modelFileOf({}),
    debug: false,
    logLevel: 'info',
    tracing: { problems: [] },
    consoleAccount: undefined,
    catalog: undefined,
  })
})

test('a router with a catalog URL is a sidecar; lists and flags are read from the environment', async () => {
  const { settings } = await routerSettings({
    env: {
      PORTOLAN_GATEWAY: 'tools',
      PORTOLAN_CATALOG_URL: 'http://tools-gateway.team.svc:8081/',
      PORTOLAN_ALLOWED_HOSTS: 'a.example, b.example',
      PORTOLAN_DEBUG: 'true',
      PORTOLAN_POD_IP: 'fd00::1',
      PORTOLAN_REMOTE_HOSTS: '*.example.com, internal',
      PORTOLAN_REFUSED_ADDRESSES: '10.0.0.0/8',
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
    },
  })
  assert.deepEqual(settings?.remotes, {
    remoteHosts: ['*.example.com', 'internal'],
    refusedAddresses: ['10.96.0.1', '10.0.0.0/8'],
  })
  assert.deepEqual(settings?.catalog, {
    url: 'http://tools-gateway.team.svc:8081',
    tokenFile: '/var/run/portolan/token/token',
  })
  assert.deepEqual(settings?.allowedHosts, ['a.example', 'b.example'])
  assert.equal(settings?.debug, true)
  assert.equal(settings?.podAddress, 'fd00::1')
})

test('each mistake is named with its variable', async () => {
  const { problems } = await routerSettings({
    env: {
      PORTOLAN_NAMESPACE: 'No Namespace',
      PORTOLAN_PORT: '70000',
      PORTOLAN_ADMIN_PORT: 'http',
      PORTOLAN_DEBUG: 'yes',
      PORTOLAN_LOG_LEVEL: 'loud',
      PORTOLAN_CATALOG_URL: 'tools-gateway:8081',
      PORTOLAN_POD_IP: 'here',
      PORTOLAN_REFUSED_ADDRESSES: 'everything',
    },
  })
  assert.deepEqual(problems, [
    'PORTOLAN_GATEWAY is required: the name of the McpGateway',
    'PORTOLAN_NAMESPACE must be the name of a namespace',
    'PORTOLAN_POD_IP must be an IP address',
    'PORTOLAN_PORT must be at most 65535',
    'PORTOLAN_ADMIN_PORT must be a number',
    'PORTOLAN_REFUSED_ADDRESSES must be addresses and subnets separated by commas, such as 10.0.0.0/8',
    'PORTOLAN_DEBUG must be true or false',
    'PORTOLAN_LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent',
    'PORTOLAN_CATALOG_URL must be an http:// or https:// URL',
  ])
})

test('the API server may have a name: its addresses are refused, and a name without any is a mistake', async () => {
  const ask = (KUBERNETES_SERVICE_HOST: string) =>
    routerSettings({ env: { PORTOLAN_GATEWAY: 'tools', KUBERNETES_SERVICE_HOST } })
  const refused = (await ask('localhost')).settings?.remotes.refusedAddresses ?? []
  assert.ok(refused.length > 0 && refused.every(address => isIP(address) !== 0), `${refused}`)
  const { problems } = await ask('no..name')
  assert.match(
    problems?.join() ?? '',
    /^KUBERNETES_SERVICE_HOST must be an address, or a name that has one: /,
  )
})
