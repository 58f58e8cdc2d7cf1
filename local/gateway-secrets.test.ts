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

test('tokens that are too short or that no caller can send are reported, and nobody has them', async () => {
  const long = 'x'.repeat(31)
  const stringData = {
    ...{ good: `${long}_`, padded: `${long}==`, hashed: `sha256:${'0'.repeat(64)}` },
    ...{ short: long, spaced: `${long} x`, marked: `!${long}`, umlaut: `${long}ä` },
  }
  const { manifest } = parseManifest({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name: 'tools' },
    spec: { auth: { tokens: { secretName: 'client' } } },
  })
  assert.ok(manifest?.kind === 'McpGateway')
  const secrets = [{ ...CLIENT, stringData }]
  const values = new ValueResolver({ secrets, configMaps: [], imported: [], env: {} }, 'default')
  const { problems } = await readGatewaySecrets(manifest, values)
  assert.deepEqual(
    problems.map(({ message }) => message),
    [
      'the tokens of short, spaced, marked, umlaut are not usable: each needs 32 characters or more, of A-Z, a-z, 0-9, -._~+/ and = at the end, or sha256: and 64 hexadecimal digits',
    ],
  )
})
