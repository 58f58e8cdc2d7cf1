/** The path through a cluster that is started for it: two routers, a Service, a pod, its bridge, a child for each session. */
import { exposeAll, stdioFixture } from '../e2e/support/exposed.ts'
import { startPortolan } from '../e2e/support/portolan.ts'
import type { Path } from './paths.ts'

export async function openClusterPath(): Promise<Path> {
  const portolan = await startPortolan()
  try {
    const { origin, stop } = await exposeAll(portolan, 'conformance', { fixture: stdioFixture('both') })
    return {
      url: `${origin}/servers/fixture/mcp`,
      async stop() {
        stop()
        await portolan.stop()
      },
    }
  } catch (error) {
    await portolan.stop()
    throw error
  }
}
