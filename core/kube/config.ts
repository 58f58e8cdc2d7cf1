/** Finds the API server: from a kubeconfig if one is given, otherwise from the environment of the pod. */
import { type Access, inClusterAccess } from './access.ts'

/** `kubeconfig` is a file and takes precedence over the variable KUBECONFIG. In a pod, its service account counts unless one of these or a context is given. */
export async function findAccess(given: { kubeconfig?: string; context?: string } = {}): Promise<Access> {
  const { KUBECONFIG, KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env
  if (host && !given.kubeconfig && !given.context && !KUBECONFIG) return inClusterAccess(host, port)
  const { kubeconfigAccess } = await import('./kubeconfig.ts')
  return kubeconfigAccess({ file: given.kubeconfig, context: given.context })
}
