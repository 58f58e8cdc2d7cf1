/** Warns about tools in a file that a gateway does not have. */
import type { LiveGateway } from './live-gateway.ts'
import { count, type Terminal } from './output.ts'

const SHOWN = 3

/** `paths`: the tools that the file names. A search cannot find one that is not in the catalog: it is probably a mistake in the file. */
export async function warnOfUnknown(
  gateway: LiveGateway,
  paths: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const { servers } = await gateway.status()
  const known = new Set(
    servers.flatMap(({ name, toolTokens }) => toolTokens.map(tool => `${name}:${tool.name}`)),
  )
  const unknown = [...new Set(paths)].filter(path => !known.has(path))
  if (unknown.length === 0) return
  const shown = unknown.slice(0, SHOWN).join(', ')
  const more = unknown.length > SHOWN ? ', …' : ''
  const subject = unknown.length === 1 ? 'wanted tool is' : 'wanted tools are'
  terminal.err(
    terminal.errColors.yellow(`${count(unknown.length)} ${subject} not in the catalog: ${shown}${more}`),
  )
}
