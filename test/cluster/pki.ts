/** Certificates and kubeconfigs of a throw-away cluster. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { run } from './command.ts'
import {
  API_PORT,
  addressesOf,
  credentials,
  insideKubeconfig,
  inUrl,
  type Layout,
  nodeName,
  nodeNumbers,
  outsideKubeconfig,
} from './layout.ts'

const DAYS = '30'
const CONTEXT = 'portolan-test'
const API_NAMES = [
  'IP:127.0.0.1',
  'DNS:localhost',
  'DNS:kubernetes',
  'DNS:kubernetes.default',
  'DNS:kubernetes.default.svc',
  'DNS:kubernetes.default.svc.cluster.local',
]
/** Without it openssl adds its own extensions. */
const OPENSSL_CONFIG = '[req]\ndistinguished_name = name\n[name]\n'

type Identity = { name: string; subject: string; names?: string[]; kubeconfig?: boolean }

/** Writes what every program of the cluster needs to prove who it is. */
export async function writeCredentials(layout: Layout): Promise<void> {
  mkdirSync(credentials(layout, '.'), { recursive: true })
  writeFileSync(credentials(layout, 'openssl.cnf'), OPENSSL_CONFIG)
  await certify(layout, 'ca', '/CN=portolan-test-ca', [
    'basicConstraints=critical,CA:TRUE',
    'keyUsage=keyCertSign',
  ])
  await Promise.all(identities(layout).map(identity => issue(layout, identity)))
  writeServiceAccountKeys(layout)
}

/** Writes the kubeconfig for clients on the machine, who reach the API server through a port of the loopback. */
export function writeOutsideKubeconfig(layout: Layout, port: number): void {
  writeFileSync(outsideKubeconfig(layout), kubeconfig(layout, 'admin', `https://127.0.0.1:${port}`), {
    mode: 0o600,
  })
}

function identities(layout: Layout): Identity[] {
  const { control, apiService, node: addressOf } = addressesOf(layout)
  const apiNames = [`IP:${control}`, `IP:${apiService}`, ...API_NAMES]
  return [
    { name: 'apiserver', subject: '/CN=kube-apiserver', names: apiNames },
    { name: 'kubelet-client', subject: '/O=system:masters/CN=kube-apiserver-kubelet-client' },
    { name: 'front-proxy', subject: '/CN=front-proxy-client' },
    { name: 'admin', subject: '/O=system:masters/CN=admin', kubeconfig: true },
    { name: 'controller-manager', subject: '/CN=system:kube-controller-manager', kubeconfig: true },
    { name: 'scheduler', subject: '/CN=system:kube-scheduler', kubeconfig: true },
    { name: 'proxy', subject: '/CN=system:kube-proxy', kubeconfig: true },
    ...nodeNumbers(layout).map(node => ({
      name: nodeName(node),
      subject: `/O=system:nodes/CN=system:node:${nodeName(node)}`,
      names: [`IP:${addressOf(node)}`, `DNS:${nodeName(node)}`],
      kubeconfig: true,
    })),
  ]
}

async function issue(layout: Layout, identity: Identity): Promise<void> {
  await certify(layout, identity.name, identity.subject, [
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=digitalSignature',
    'extendedKeyUsage=clientAuth,serverAuth',
    ...(identity.names ? [`subjectAltName=${identity.names.join(',')}`] : []),
  ])
  if (!identity.kubeconfig) return
  const file =
    identity.name === 'admin' ? insideKubeconfig(layout) : credentials(layout, `${identity.name}.kubeconfig`)
  const server = `https://${inUrl(addressesOf(layout).control)}:${API_PORT}`
  writeFileSync(file, kubeconfig(layout, identity.name, server), {
    mode: 0o600,
  })
}

/** Makes a key and a certificate, signed by the cluster's authority or, for the authority, by itself. */
async function certify(layout: Layout, name: string, subject: string, extensions: string[]): Promise<void> {
  const path = (file: string) => credentials(layout, file)
  const issuer = name === 'ca' ? [] : ['-CA', path('ca.crt'), '-CAkey', path('ca.key')]
  const key = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    path(`${name}.key`),
  ]
  const certificate = ['-x509', '-days', DAYS, '-subj', subject, '-out', path(`${name}.crt`)]
  const extended = extensions.flatMap(extension => ['-addext', extension])
  await run([
    'openssl',
    'req',
    '-config',
    path('openssl.cnf'),
    ...key,
    ...certificate,
    ...issuer,
    ...extended,
  ])
}

function writeServiceAccountKeys(layout: Layout): void {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'prime256v1',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
  })
  writeFileSync(credentials(layout, 'sa.key'), privateKey, { mode: 0o600 })
  writeFileSync(credentials(layout, 'sa.pub'), publicKey)
}

function kubeconfig(layout: Layout, name: string, server: string): string {
  const data = (file: string) => readFileSync(credentials(layout, file)).toString('base64')
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: CONTEXT, cluster: { server, 'certificate-authority-data': data('ca.crt') } }],
    users: [
      {
        name,
        user: { 'client-certificate-data': data(`${name}.crt`), 'client-key-data': data(`${name}.key`) },
      },
    ],
    contexts: [{ name: CONTEXT, context: { cluster: CONTEXT, user: name } }],
    'current-context': CONTEXT,
  })
}
