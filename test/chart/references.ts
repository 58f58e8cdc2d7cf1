/** A spec for each place of our kinds and of a pod that names a Secret or ConfigMap; the object is called "named". */

const key = { name: 'named', key: 'k' }
const object = { name: 'named' }
const npm = { package: 'server', version: '1.0.0' }
const remote = { url: 'https://mcp.example.com/mcp' }
const issuer = { name: 'a', issuer: 'https://login.example.com', audiences: ['https://mcp.example.com/mcp'] }

/** By path, as test/chart/references.test.ts finds them in the schema. */
export const SERVER_REFERENCES: Readonly<Record<string, object>> = {
  'env[].valueFrom.secretKeyRef': { npm, env: [{ name: 'A', valueFrom: { secretKeyRef: key } }] },
  'env[].valueFrom.configMapKeyRef': { npm, env: [{ name: 'A', valueFrom: { configMapKeyRef: key } }] },
  'envFrom[].secretRef': { npm, envFrom: [{ secretRef: object }] },
  'envFrom[].configMapRef': { npm, envFrom: [{ configMapRef: object }] },
  'headers[].valueFrom.secretKeyRef': {
    remote,
    headers: [{ name: 'A', valueFrom: { secretKeyRef: key } }],
  },
  'headers[].valueFrom.configMapKeyRef': {
    remote,
    headers: [{ name: 'A', valueFrom: { configMapKeyRef: key } }],
  },
  'auth.oauth.clientSecretRef': { remote, auth: { oauth: { clientId: 'a', clientSecretRef: key } } },
  'auth.perUser.oauth.clientSecretRef': {
    remote,
    sessions: 'perUser',
    auth: { perUser: { oauth: { clientId: 'a', clientSecretRef: key } } },
  },
  'auth.perUser.tokenExchange.clientSecretRef': {
    remote,
    sessions: 'perUser',
    auth: {
      perUser: {
        tokenExchange: { tokenUrl: 'https://login.example.com/token', clientId: 'a', clientSecretRef: key },
      },
    },
  },
}

export const GATEWAY_REFERENCES: Readonly<Record<string, object>> = {
  'search.embeddings.secretRef': {
    search: { embeddings: { url: 'https://example.com/v1', model: 'm', secretRef: key } },
  },
  'auth.jwt[].keys.configMapKeyRef': { auth: { jwt: [{ ...issuer, keys: { configMapKeyRef: key } }] } },
  'auth.jwt[].caBundle.configMapKeyRef': {
    auth: { jwt: [{ ...issuer, caBundle: { configMapKeyRef: key } }] },
  },
  'auth.jwt[].login.clientSecretRef': {
    auth: { jwt: [{ ...issuer, login: { clientId: 'a', clientSecretRef: key } }] },
  },
  'auth.tokens.secretName': { auth: { tokens: { secretName: 'named' } } },
  'router.expose.ingress.tls.secretName': {
    router: { expose: { ingress: { host: 'mcp.example.com', tls: { secretName: 'named' } } } },
  },
  'auth.revoked.configMapName': { auth: { revoked: { configMapName: 'named' } } },
}

const volume = (source: object) => ({ volumes: [{ name: 'v', ...source }] })
const container = (parts: object) => [{ name: 'server', ...parts }]

/** Parts of a pod, whose schema is Kubernetes' own. */
export const POD_REFERENCES: Readonly<Record<string, object>> = {
  'containers[].env[].valueFrom.secretKeyRef': {
    containers: container({ env: [{ name: 'A', valueFrom: { secretKeyRef: key } }] }),
  },
  'containers[].env[].valueFrom.configMapKeyRef': {
    containers: container({ env: [{ name: 'A', valueFrom: { configMapKeyRef: key } }] }),
  },
  'containers[].envFrom[].secretRef': { containers: container({ envFrom: [{ secretRef: object }] }) },
  'initContainers[].envFrom[].configMapRef': {
    initContainers: container({ envFrom: [{ configMapRef: object }] }),
  },
  'volumes[].secret': volume({ secret: { secretName: 'named' } }),
  'volumes[].configMap': volume({ configMap: object }),
  'volumes[].projected.sources[].secret': volume({ projected: { sources: [{ secret: object }] } }),
  'volumes[].projected.sources[].configMap': volume({ projected: { sources: [{ configMap: object }] } }),
  'volumes[].iscsi.secretRef': volume({ iscsi: { secretRef: object } }),
  'volumes[].azureFile': volume({ azureFile: { secretName: 'named' } }),
  imagePullSecrets: { imagePullSecrets: [object] },
}
