/** The Secrets that a local gateway refers to. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseManifest } from '../crds/parse.ts'
import { readGatewaySecrets } from './gateway-secrets.ts'
import { ValueResolver } from './secrets.ts'

const CLIENT = {
  apiVersion: 'v1' as const,
  kind: 'Secret' as const,
  metadata: { name: 'client' },
  stringData: { secret: 's3cret' },
}

test('the client secrets of issuers are found by their references, and a missing one is reported with its path', async () => {
  const jwt = ['client', 'missing'].map((name, at) => ({
    ...{ name: `issuer-${at}`, issuer: `https://login-${at}.example.com`, audiences: ['a'] },
    login: { clientId: 'portolan', clientSecretRef: { name, key: 'secret' } },
  }))
  const { manifest } = parseManifest({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name: 'tools' },
    spec: { url: 'https://mcp.example.com', auth: { jwt } },
  })
  assert.ok(manifest?.kind === 'McpGateway')
  const values = new ValueResolver({ secrets: [CLIENT], configMaps: [], imported: [], env: {} }, 'default')
  const { secrets, problems } = await readGatewaySecrets(manifest, values)
  assert.equal(secrets.loginSecret({ name: 'client', key: 'secret' }), 's3cret')
  assert.equal(secrets.loginSecret({ name: 'client', key: 'other' }), undefined)
  assert.deepEqual(
    problems.map(({ path, reason }) => [path, reason]),
    [['spec.auth.jwt[1].login.clientSecretRef', 'SecretNotFound']],
  )
})
