/**
 * Access by a kubeconfig, as people at a terminal have it. Loading @kubernetes/client-node costs some 90 MB, so this file is
 * imported only where there is a kubeconfig: never in a pod.
 */
import type { RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import type { Access, Credentials } from './access.ts'

const MADE_UP = 'loaded-context'

/** Without `file`: the files of the variable KUBECONFIG, else the one in the home folder. Throws where there is no such context. */
export function kubeconfigAccess(given: { file?: string; context?: string } = {}): Access {
  const config = load(given)
  const cluster = config.getCurrentCluster()
  if (!cluster) throw new Error(`the kubeconfig has no cluster for the context ${config.getCurrentContext()}`)
  if (cluster.proxyUrl) throw new Error('proxy-url in a kubeconfig is not supported')
  return {
    server: cluster.server,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? 'default',
    // loaded anew, for a KubeConfig keeps tokens from files and programs
    credentials: () => credentialsOf(load(given)),
  }
}

function load({ file, context }: { file?: string; context?: string }): KubeConfig {
  const config = new KubeConfig()
  if (file) config.loadFromFile(file)
  else config.loadFromDefault()
  // what the library makes up where it finds none leads to http://localhost:8080
  if (config.getCurrentContext() === MADE_UP)
    throw new Error(
      'there is no kubeconfig: set KUBECONFIG, or make ~/.kube/config, to say which cluster is meant',
    )
  if (context) config.setCurrentContext(context)
  return config
}

async function credentialsOf(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = options
  return {
    headers: { ...textHeaders(options), ...basicAuth(options.auth) },
    tls: { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized },
  }
}

function textHeaders({ headers }: RequestOptions): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value).trim()]),
  )
}

function basicAuth(pair?: string | null): Record<string, string> {
  return pair ? { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } : {}
}
