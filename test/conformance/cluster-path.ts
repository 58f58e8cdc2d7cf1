/** The way through a cluster of its own: two routers, a Service, a pod, its bridge, a child for each session. */
import { exposeAll, stdioFixture } from '../e2e/support/exposed.ts'
import { startPortolan } from '../e2e/support/portolan.ts'
import type { Path } from './paths.ts'

export async function openClusterPath(): Promise<Path> {
  const portolan = await startPortolan()
  const { origin, stop } = await exposeAll(portolan, 'conformance', { fixture: stdioFixture('both') })
  return {
    url: `${origin}/servers/fixture/mcp`,
    async stop() {
      stop()
      await portolan.stop()
    },
  }
}
