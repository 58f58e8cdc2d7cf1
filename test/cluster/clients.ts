/** What kubectl and helm are told, so that they talk to the one cluster and keep nothing in the user's folders. */
import { join } from 'node:path'

/** `folder` takes their caches. */
export function clientEnvironment(kubeconfig: string, folder: string): Record<string, string> {
  return {
    KUBECONFIG: kubeconfig,
    KUBECACHEDIR: join(folder, 'kubectl'),
    HELM_CACHE_HOME: join(folder, 'helm', 'cache'),
    HELM_CONFIG_HOME: join(folder, 'helm', 'config'),
    HELM_DATA_HOME: join(folder, 'helm', 'data'),
  }
}
