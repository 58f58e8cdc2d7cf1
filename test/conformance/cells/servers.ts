/** The fixture as upstreams of every kind, behind one gateway in this process. */
import type { LocalGateway } from '../../../local/local-gateway.ts'
import { startTestGateway } from '../../support/local-gateway.ts'
import { createWorkspace, scriptCommand } from '../../support/manifests.ts'
import { type Gateway, startBridgeProcess } from '../../support/processes.ts'
import { startHttpFixture } from '../fixture/http.ts'
import { FIXTURE } from '../paths.ts'
import { startSseFixture } from './sse.ts'

export type Kind = {
  name: string
  modern: boolean
  /** One session for all callers: all see the same state of the server. */
  shared: boolean
  /** Whether the gateway can know which client a question of the server is for. */
  asks: boolean
  transport: 'http' | 'sse' | 'stdio' | 'bridge'
}

export const KINDS: readonly Kind[] = [
  { name: 'http-2025', modern: false, shared: true, asks: true, transport: 'http' },
  { name: 'http-2026', modern: true, shared: true, asks: true, transport: 'http' },
  { name: 'sse-2025', modern: false, shared: false, asks: true, transport: 'sse' },
  { name: 'stdio-2025', modern: false, shared: false, asks: true, transport: 'stdio' },
  { name: 'stdio-2026', modern: true, shared: false, asks: true, transport: 'stdio' },
  { name: 'stdio-2025-shared', modern: false, shared: true, asks: false, transport: 'stdio' },
  { name: 'stdio-2026-shared', modern: true, shared: true, asks: true, transport: 'stdio' },
  { name: 'bridge-2025', modern: false, shared: false, asks: true, transport: 'bridge' },
  { name: 'bridge-2026-shared', modern: true, shared: true, asks: true, transport: 'bridge' },
]

const BRIDGED = KINDS.filter(({ transport }) => transport === 'bridge')

/** Resolves when every server has been read; `close` ends everything. */
export async function startCells(): Promise<LocalGateway> {
  const space = createWorkspace()
  const [legacy, modern, sse, ...bridges] = await Promise.all([
    startHttpFixture({ era: 'legacy' }),
    startHttpFixture({ era: 'modern' }),
    startSseFixture(),
    ...BRIDGED.map(kind => bridge(kind, space.cache)),
  ])
  const remotes: Record<string, object> = {
    'http-2025': { remote: { url: legacy.url } },
    'http-2026': { remote: { url: modern.url } },
    'sse-2025': { remote: { url: sse.url, transport: 'sse' } },
    ...Object.fromEntries(
      BRIDGED.map(({ name }, at) => [name, { remote: { url: `${bridges[at]?.url}/mcp` } }]),
    ),
  }
  for (const kind of KINDS)
    space.write(kind.name, { ...(remotes[kind.name] ?? command(kind)), sessions: sessionsOf(kind) })
  const gateway = await startTestGateway(space, { exposeServers: true })
  return {
    ...gateway,
    async close() {
      await gateway.close()
      await Promise.all([legacy, modern, sse].map(fixture => fixture.close()))
      await Promise.all(bridges.map(({ stop }) => stop()))
      space.remove()
    },
  }
}

function command({ modern }: Kind) {
  return scriptCommand(FIXTURE, 'stdio', modern ? 'modern' : 'legacy')
}

function sessionsOf({ shared }: Kind): 'shared' | 'perClient' {
  return shared ? 'shared' : 'perClient'
}

function bridge(kind: Kind, folder: string): Promise<Gateway> {
  return startBridgeProcess(
    ['--sessions', sessionsOf(kind), '--name', kind.name],
    command(kind).command,
    folder,
  )
}
