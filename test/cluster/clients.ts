/** The environment of kubectl and helm, so that they use this cluster only and write nothing into the user's folders. */
import { join } from 'node:path'

/** `folder`: where they keep their caches. */
export function clientEnvironment(kubeconfig: string, folder: string): Record<string, string> {
  return {
    KUBECONFIG: kubeconfig,
    KUBECACHEDIR: join(folder, 'kubectl'),
    HELM_CACHE_HOME: join(folder, 'helm', 'cache'),
    HELM_CONFIG_HOME: join(folder, 'helm', 'config'),
    HELM_DATA_HOME: join(folder, 'helm', 'data'),
  }
}
