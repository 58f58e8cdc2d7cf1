/** Creates and starts the operator's console. */
import type { OperatorOptions } from '../operator.ts'
import type { Caches } from '../runtime/caches.ts'
import { createClusterView } from './cluster-view.ts'
import { serveConsole } from './console-server.ts'
import { createRouterClient } from './router-client.ts'

/** Undefined if the console is off. It runs in every replica, since replicas on standby have the same caches. Throws Fault `unavailable`. */
export async function openConsole(
  { console: wanted, log, clock, random = Math.random }: OperatorOptions,
  caches: Caches,
): Promise<{ port: number; close(): Promise<void> } | undefined> {
  if (!wanted) return undefined
  const view = createClusterView(caches)
  const client = createRouterClient(wanted.tokenFile)
  const { port, page } = wanted
  const server = await serveConsole({ page, view, client, port, log, clock, random })
  return {
    port: server.port,
    async close() {
      view.close()
      await server.close()
      await client.close()
    },
  }
}
