/** A laptop's gateway with a server that keeps notes in one process for each user, and callers who have a token each. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createLog } from '../../core/log.ts'
import type { LocalOptions } from '../../local/local-gateway.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace, scriptCommand, type Workspace } from '../support/manifests.ts'
import { callAs, tokenOf } from './as-user.ts'

export const NOTES = 'test/upstreams/users/server.mjs'

export type About = { pid: number; env: Record<string, string>; notes: string[] }

/** A gateway with one server, and as many named callers; its log and processes can be searched. */
export async function start(
  t: TestContext,
  names: readonly string[],
  spec: object = {},
  { write, ...options }: Partial<LocalOptions> & { write?: (space: Workspace) => void } = {},
) {
  const space = createWorkspace()
  const mark = `users-${process.pid}-${space.folder.split('-').pop()}`
  space.write('notes', { ...scriptCommand(NOTES, mark), sessions: 'perUser', ...spec })
  writeCallers(space, names)
  write?.(space)
  const lines: string[] = []
  const gateway = await startTestGateway(space, {
    log: createLog({ level: 'trace', destination: { write: line => void lines.push(line) } }),
    ...options,
  })
  t.after(async () => {
    await gateway.close()
    space.remove()
  })
  return { gateway, space, mark, origin: new URL(gateway.url).origin, log: () => lines.join('') }
}

function writeCallers(space: Workspace, names: readonly string[]): void {
  const tokens = Object.fromEntries(names.map(name => [name, tokenOf(name)]))
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'callers' }, stringData: tokens }
  const gateway = {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name: 'tools' },
    spec: { auth: { tokens: { secretName: 'callers' } }, expose: { servers: true } },
  }
  writeFileSync(join(space.folder, 'gateway.json'), JSON.stringify(gateway))
  writeFileSync(join(space.folder, 'callers.json'), JSON.stringify(secret))
}

export async function about(origin: string, user: string): Promise<About> {
  const { text } = await callAs(origin, tokenOf(user), 'notes:about')
  return JSON.parse(text) as About
}
