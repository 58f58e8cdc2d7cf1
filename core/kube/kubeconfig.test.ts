/** Access by the common kinds of kubeconfigs, and by the files of a pod. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { inClusterAccess } from './access.ts'
import { findAccess } from './config.ts'
import { kubeconfigAccess } from './kubeconfig.ts'

const folder = mkdtempSync(join(tmpdir(), 'portolan-kubeconfig-'))
after(() => rmSync(folder, { recursive: true }))

test('certificates and namespace are taken from the current context', async () => {
  const access = kubeconfigAccess({
    file: config({ 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') }),
  })
  const { headers, tls } = await access.credentials()
  assert.deepEqual([access.server, access.namespace, headers], ['https://127.0.0.1:6443', 'team', {}])
  assert.deepEqual([tls.ca, tls.cert, tls.key].map(String), ['ca', 'cert', 'key'])
})

test("the server's URL may have a path; a slash at its end is dropped", () => {
  const server = 'https://rancher/k8s/clusters/c-1'
  assert.equal(kubeconfigAccess({ file: config({ token: 'x' }, `${server}/`) }).server, server)
})

test('another context can be chosen; one that does not exist is an error', () => {
  const file = config({ token: 'x' })
  assert.equal(kubeconfigAccess({ file, context: 'other' }).namespace, 'default')
  assert.throws(() => kubeconfigAccess({ file, context: 'nowhere' }), /no cluster for the context nowhere/)
})

test('without a kubeconfig, the error says to set KUBECONFIG', t => {
  const { HOME, KUBECONFIG } = process.env
  t.after(() => Object.assign(process.env, { HOME }, KUBECONFIG && { KUBECONFIG }))
  delete process.env.KUBECONFIG
  process.env.HOME = join(folder, 'nobody')
  assert.throws(() => kubeconfigAccess(), /there is no kubeconfig: set KUBECONFIG/)
})

test('a token and a password become headers', async () => {
  assert.deepEqual(await headersOf({ token: 'secret' }), { authorization: 'Bearer secret' })
  const pair = { username: 'me', password: 'secret' }
  assert.deepEqual(await headersOf(pair), { authorization: `Basic ${base64('me:secret')}` })
})

test('a token file is read, and a credential program run, every time', async () => {
  const tokenFile = join(folder, 'token')
  const program = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'cat',
    args: [join(folder, 'answer')],
  }
  writeFileSync(tokenFile, 'first\n')
  writeFileSync(join(folder, 'answer'), JSON.stringify({ status: { token: 'first' } }))
  const users = [{ 'token-file': tokenFile }, { exec: program }].map(user =>
    kubeconfigAccess({ file: config(user) }),
  )
  const tokens = () => Promise.all(users.map(async user => (await user.credentials()).headers.authorization))
  assert.deepEqual(await tokens(), ['Bearer first', 'Bearer first'])
  writeFileSync(tokenFile, 'second\n')
  writeFileSync(join(folder, 'answer'), JSON.stringify({ status: { token: 'second' } }))
  assert.deepEqual(await tokens(), ['Bearer second', 'Bearer second'])
})

test('a given kubeconfig takes precedence over the service account of the pod', async t => {
  process.env.KUBERNETES_SERVICE_HOST = '10.96.0.1'
  t.after(() => delete process.env.KUBERNETES_SERVICE_HOST)
  assert.equal((await findAccess({ kubeconfig: config({ token: 'x' }) })).server, 'https://127.0.0.1:6443')
})

test('a given context takes precedence over the service account of the pod', async t => {
  const { KUBECONFIG, HOME } = process.env
  Object.assign(process.env, { KUBERNETES_SERVICE_HOST: '10.96.0.1', HOME: join(folder, 'home') })
  delete process.env.KUBECONFIG
  t.after(() => {
    delete process.env.KUBERNETES_SERVICE_HOST
    Object.assign(process.env, { HOME }, KUBECONFIG && { KUBECONFIG })
  })
  mkdirSync(join(folder, 'home', '.kube'), { recursive: true })
  copyFileSync(config({ token: 'x' }), join(folder, 'home', '.kube', 'config'))
  const { server, namespace } = await findAccess({ context: 'other' })
  assert.deepEqual([server, namespace], ['https://127.0.0.1:6443', 'default'])
})

test('a pod reads its service account files every time', async () => {
  writeFileSync(join(folder, 'namespace'), 'team')
  writeFileSync(join(folder, 'ca.crt'), 'ca')
  writeFileSync(join(folder, 'token'), 'one')
  const access = await inClusterAccess('fd00::1', '443', folder)
  assert.deepEqual([access.server, access.namespace], ['https://[fd00::1]:443', 'team'])
  assert.deepEqual((await access.credentials()).headers, { authorization: 'Bearer one' })
  writeFileSync(join(folder, 'token'), 'two')
  assert.deepEqual(await access.credentials(), {
    headers: { authorization: 'Bearer two' },
    tls: { ca: 'ca' },
  })
})

async function headersOf(user: object): Promise<Record<string, string>> {
  return (await kubeconfigAccess({ file: config(user) }).credentials()).headers
}

let files = 0
function config(user: object, server = 'https://127.0.0.1:6443'): string {
  const file = join(folder, `kubeconfig-${files++}`)
  const cluster = { server, 'certificate-authority-data': base64('ca') }
  const content = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'one', context: { cluster: 'c', user: 'u', namespace: 'team' } },
      { name: 'other', context: { cluster: 'c', user: 'u' } },
    ],
    'current-context': 'one',
  }
  writeFileSync(file, JSON.stringify(content))
  return file
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
