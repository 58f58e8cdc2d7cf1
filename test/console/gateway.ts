/** A laptop gateway with its console, for tests. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConsolePage } from '../../core/console/page.ts'
import type { LocalGateway, LocalOptions } from '../../local/local-gateway.ts'
import { buildConsole } from '../../scripts/console.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace, scriptCommand, type Workspace } from '../support/manifests.ts'

export type ConsoleGateway = LocalGateway & {
  /** `http://127.0.0.1:1234/` */
  base: string
  page: ConsolePage
  space: Workspace
}

/** Serves `servers`, specs by name; default: one that behaves. `more`: other manifests. Closed and removed by `close`. */
export async function startConsole(
  servers: Record<string, object> = { polite: scriptCommand('test/upstreams/rude/server.mjs', 'polite') },
  options: Partial<LocalOptions> = {},
  more?: string,
): Promise<ConsoleGateway> {
  const space = createWorkspace()
  if (more !== undefined) writeFileSync(join(space.folder, 'more.yaml'), more)
  for (const [name, spec] of Object.entries(servers)) space.write(name, spec)
  const { page } = await buildConsole()
  const gateway = await startTestGateway(space, { page, ...options })
  return {
    ...gateway,
    base: gateway.url.replace(/mcp$/, ''),
    page,
    space,
    async close() {
      await gateway.close()
      space.remove()
    },
  }
}
