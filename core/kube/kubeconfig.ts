/**
 * Access by a kubeconfig. Loading @kubernetes/client-node takes about 90 MB of memory, so this file is imported only if there is a
 * kubeconfig: in a pod only if one is asked for.
 */
import type { RequestOptions } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import type { Access, Credentials } from './access.ts'

/** The name of the context that the library creates, for http://localhost:8080, if it finds no kubeconfig. */
const DEFAULT_CONTEXT = 'loaded-context'

/** Without `file`: the files in the variable KUBECONFIG, otherwise ~/.kube/config. Throws if the context does not exist. */
export function kubeconfigAccess(given: { file?: string; context?: string } = {}): Access {
  const config = load(given)
  const cluster = config.getCurrentCluster()
  if (!cluster) throw new Error(`the kubeconfig has no cluster for the context ${config.getCurrentContext()}`)
  if (cluster.proxyUrl) throw new Error('proxy-url in a kubeconfig is not supported')
  return {
    server: cluster.server.replace(/\/+$/, ''),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? 'default',
    // Loaded every time, because a KubeConfig caches tokens from files and programs.
    credentials: () => credentialsOf(load(given)),
  }
}

function load({ file, context }: { file?: string; context?: string }): KubeConfig {
  const config = new KubeConfig()
  if (file) config.loadFromFile(file)
  else config.loadFromDefault()
  if (config.getCurrentContext() === DEFAULT_CONTEXT)
    throw new Error('there is no kubeconfig: set KUBECONFIG or create ~/.kube/config')
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
