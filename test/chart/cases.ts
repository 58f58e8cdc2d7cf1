/** Values as people set them, for the cases that are rendered, compared and sent to an API server. */
import type { Values } from './helm.ts'

/** A certificate made for this test: CN=authority.example. */
const AUTHORITY = `-----BEGIN CERTIFICATE-----
MIIBjjCCATOgAwIBAgIUbodt1P8TpyOys3JMmGHE/dmEONgwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRYXV0aG9yaXR5LmV4YW1wbGUwHhcNMjYxMTI0MDQzNzIzWhcN
MzYxMTIxMDQzNzIzWjAcMRowGAYDVQQDDBFhdXRob3JpdHkuZXhhbXBsZTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABEa1LsVbXm/L8ynNZGh5MYCXSLHD6OUsMiIN
ooAE1pOhJiUKmjs9Fzv2RCXFDMQl8f+VoNDWAbHRc04qEcaDb6qjUzBRMB0GA1Ud
DgQWBBRbdD0AxbC7aE6huo/X0Y9PwfsvfTAfBgNVHSMEGDAWgBRbdD0AxbC7aE6h
uo/X0Y9PwfsvfTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDk
ymapeuLsF+iiNXjF5VF87q0mCnT3xDxyMip9bAlbwAIhAIfjBQEBUsfkHU3aF5d0
NPGXSYLdcREblkM25hxgqaiq
-----END CERTIFICATE-----
`
const PROMETHEUS = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }

export const CASES: Readonly<Record<string, Values>> = {
  namespaced: {
    watchNamespaces: ['team-a', 'team-b'],
    monitoring: { from: [PROMETHEUS], podMonitors: { enabled: true } },
  },
  'air-gapped': {
    image: { registry: 'registry.example.com/mirror', digest: `sha256:${'0'.repeat(64)}` },
    imagePullSecrets: [{ name: 'mirror' }, { name: 'other' }],
    trustedCertificates: AUTHORITY,
    proxy: {
      https: 'http://proxy.example.com:3128',
      noProxy: ['intern.example.com', '10.0.0.0/8'],
      secretName: 'proxy-login',
    },
    servers: {
      npm: { registry: 'https://npm.example.com/' },
      pypi: { index: 'https://pypi.example.com/simple/' },
      dns: [{ ipBlock: { cidr: '10.0.0.2/32' } }],
    },
    monitoring: { from: [PROMETHEUS] },
  },
  'assigned-user': { user: null },
  policy: {
    policy: {
      podFields: ['hostPath'],
      registries: ['registry.example.com', 'ghcr.io/acme'],
      remoteHosts: ['*.example.com'],
      refusedAddresses: ['10.0.0.0/8', '192.168.7.1', 'fd00::/8', '::1'],
    },
  },
  'token-review': { tokenReview: { enabled: true } },
  'without-sidecars': { sidecar: { enabled: false } },
  'without-console': { console: { enabled: false } },
  'one-replica': { operator: { replicas: 1 }, crds: { upgrade: false } },
  'operator-in-its-place': {
    operator: {
      logLevel: 'debug',
      resync: '604800s',
      resources: { limits: { cpu: '1', memory: '1Gi' } },
      env: [{ name: 'HTTPS_PROXY', value: 'http://proxy.example.com:3128' }],
      podAnnotations: { 'example.com/team': 'platform' },
      podLabels: { team: 'platform' },
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'control', operator: 'Exists' }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'pool', operator: 'In', values: ['control'] }] }],
          },
        },
      },
      priorityClassName: 'system-cluster-critical',
      serviceAccount: { name: 'mcp.operator', annotations: { 'example.com/role': 'mcp' } },
    },
    servers: {
      delivery: 'imageVolume',
      networkPolicies: false,
      resources: { server: { requests: { cpu: '50m' }, limits: { memory: '1Gi' } } },
    },
  },
  monitored: {
    monitoring: {
      from: [PROMETHEUS],
      podMonitors: { enabled: true, labels: { release: 'prometheus' }, interval: '15s' },
    },
  },
  traced: {
    tracing: {
      endpoint: 'http://collector.observability.svc:4318',
      sampler: 'parentbased_traceidratio',
      ratio: 0.1,
    },
  },
  'gateway-with-servers': {
    gateway: {
      enabled: true,
      namespace: 'mcp',
      name: 'start',
      spec: { profiles: { default: 'search' }, router: { replicas: 1 } },
      servers: {
        everything: { npm: { package: '@modelcontextprotocol/server-everything', args: ['stdio'] } },
        time: { pypi: { package: 'mcp-server-time', version: '2026.1.26' }, category: 'time' },
      },
    },
  },
}

/** Their content is generated from code, and compared there. */
export const GENERATED: Values = {
  monitoring: {
    alerts: { enabled: true, labels: { release: 'prometheus' } },
    dashboards: { enabled: true, annotations: { grafana_folder: 'Portolan' } },
  },
}

/** Invalid values of this chart, and the error that helm has to report. */
export const WRONG: readonly { title: string; values: Values; says: RegExp }[] = [
  {
    title: 'an unknown value',
    values: { replicas: 3 },
    says: /additional properties 'replicas' not allowed/,
  },
  {
    title: 'PodMonitors without the place where Prometheus runs',
    values: { monitoring: { podMonitors: { enabled: true } } },
    says: /podMonitors needs monitoring\.from: where Prometheus runs/,
  },
  {
    title: 'an empty network policy peer',
    values: { monitoring: { from: [{}] } },
    says: /monitoring\/from\/0'/,
  },
  {
    title: 'DNS servers as plain addresses',
    values: { servers: { dns: ['10.96.0.10'] } },
    says: /servers\/dns\/0'/,
  },
  {
    title: 'an endpoint of traces that is not a URL',
    values: { tracing: { endpoint: 'collector:4318' } },
    says: /tracing\/endpoint/,
  },
  {
    title: 'an unknown sampler of traces',
    values: { tracing: { endpoint: 'http://collector:4318', sampler: 'sometimes' } },
    says: /tracing\/sampler/,
  },
  {
    title: 'an unknown nested value',
    values: { operator: { discovery: { interval: '1m' } } },
    says: /operator\/discovery': additional properties 'interval'/,
  },
  {
    title: 'replicas as text',
    values: { operator: { replicas: '2' } },
    says: /operator\/replicas': .*integer/,
  },
  {
    title: 'an unknown pull policy',
    values: { image: { pullPolicy: 'Sometimes' } },
    says: /image\/pullPolicy': .*'Always', 'IfNotPresent', 'Never'/,
  },
  {
    title: 'a registry with its scheme',
    values: { image: { registry: 'https://registry.example.com' } },
    says: /image\/registry': .*pattern/,
  },
  {
    title: 'a tag in the repository',
    values: { image: { repository: 'a/b:1' } },
    says: /image\/repository'/,
  },
  {
    title: 'a digest that is too short',
    values: { image: { digest: 'sha256:abc' } },
    says: /image\/digest'/,
  },
  {
    title: 'pull secrets as plain names',
    values: { imagePullSecrets: ['mirror'] },
    says: /imagePullSecrets\/0': .*object/,
  },
  {
    title: 'one namespace as text',
    values: { watchNamespaces: 'team-a' },
    says: /watchNamespaces': .*array/,
  },
  {
    title: 'a duration without its unit',
    values: { operator: { resync: '600' } },
    says: /operator\/resync'/,
  },
  ...['720h', '169h', '1ms'].map(resync => ({
    title: `a resync of ${resync}, which the operator refuses`,
    values: { operator: { resync } },
    says: /operator\/resync'/,
  })),
  ...['10.0.0.0/99', '10.0.0', '256.0.0.1', 'fd00::/129'].map(address => ({
    title: `${address} among refused addresses`,
    values: { policy: { refusedAddresses: ['10.0.0.0/8', address] } },
    says: new RegExp(`policy/refusedAddresses/1': '${address}'`),
  })),
  {
    title: 'a network policy peer with a block without addresses',
    values: { monitoring: { from: [{ ipBlock: {} }] } },
    says: /monitoring\/from\/0\/ipBlock'.*'cidr'/,
  },
  {
    title: 'a ServiceAccount with a name that Kubernetes refuses',
    values: { operator: { serviceAccount: { name: 'Portolan' } } },
    says: /operator\/serviceAccount\/name'/,
  },
  {
    title: 'an unknown way of delivery',
    values: { servers: { delivery: 'copy' } },
    says: /servers\/delivery': .*'initContainer', 'imageVolume'/,
  },
  {
    title: 'a registry of packages that is not a URL',
    values: { servers: { npm: { registry: 'npm.example.com' } } },
    says: /servers\/npm\/registry'/,
  },
  {
    title: 'resources without requests and limits',
    values: { servers: { resources: { router: { memory: '1Gi' } } } },
    says: /servers\/resources\/router': .*'memory' not allowed/,
  },
  {
    title: 'a proxy with credentials, which would be in the manifests of pods',
    values: { proxy: { https: 'http://ann:geheim@proxy.example.com:3128' } },
    says: /proxy\/https'/,
  },
  {
    title: 'a gateway with a reserved name',
    values: { gateway: { enabled: true, name: 'portolan' } },
    says: /gateway\/name'/,
  },
  {
    title: 'a server without a spec',
    values: { gateway: { enabled: true, servers: { time: {} } } },
    says: /gateway\/servers\/time'/,
  },
  {
    title: 'a gateway in a namespace that the operator does not watch',
    values: { gateway: { enabled: true, namespace: 'mcp' }, watchNamespaces: ['team-a'] },
    says: /creates a gateway in the namespace mcp, which is not in watchNamespaces: add it/,
  },
  {
    title: 'a field of pods that needs no permission',
    values: { policy: { podFields: ['nodeSelector'] } },
    says: /policy\/podFields\/0': .*'hostPath'/,
  },
  {
    title: 'a gateway without a namespace',
    values: { gateway: { enabled: true } },
    says: /needs gateway.namespace: a namespace that exists, other than portolan/,
  },
  {
    title: 'a gateway in the operator’s own namespace',
    values: { gateway: { enabled: true, namespace: 'portolan' } },
    says: /needs gateway.namespace: a namespace that exists, other than portolan/,
  },
  {
    title: 'the operator’s own namespace in watchNamespaces',
    values: { watchNamespaces: ['team-a', 'portolan'] },
    says: /watchNamespaces has portolan, the operator's own namespace, in which it serves nothing: take it out/,
  },
]
