/** `portolan approve`: shows what changed in the tools of a server that pins them, or in a version of its package, and approves it. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { hiddenTextOf } from '../core/catalog/hidden-text.ts'
import type { ToolDefinition } from '../core/catalog/server-catalog.ts'
import { changesLine, changesOf, type ToolChanges } from '../core/catalog/tool-changes.ts'
import { type ChangedPackage, isIntegrity } from '../core/packages/integrity.ts'
import { CommandError } from './command-error.ts'
import { contextOption, namespaceOption } from './options.ts'
import type { Terminal } from './output.ts'
import { toolDiff } from './tool-diff.ts'

const SHORTEST_DIGEST = 12

export type ApproveOptions = {
  diff?: boolean
  digest?: string
  folder?: string
  namespace?: string
  context?: string
}

/** What changed of one server: versions of its package, and its tools, as they were approved and as they are now. */
export type Pending = {
  packages: readonly (ChangedPackage & { approve(): Promise<string> })[]
  approved: readonly ToolDefinition[]
  found: readonly ToolDefinition[]
  /** Approves what was found, by its digest; resolves with a sentence of what happens then. */
  approve(digest: string): Promise<string>
}

const HELP = `
  portolan approve github --diff                  what changed, word by word; approves nothing
  portolan approve github                         approves all tools of the server as they are now
  portolan approve github --digest 3f2a94c01b7d   only if they are still the ones that --diff showed
  portolan approve github --namespace mcp         for a server in a cluster: sets its annotation portolan.dev/approve

For servers with spec.tools.pin in their manifest, and for packages that were refused because a version has other content than before
(IntegrityChanged): in a cluster by the name of the McpServer, on this machine by that of the package. Hidden characters are shown in ⟨ ⟩; text that has them can be approved only with --digest.`

export function approveCommand(terminal: Terminal): Command {
  return new Command('approve')
    .description('approve the changed tools or the changed package of a server, or show what changed')
    .argument('<server>', 'the name of the McpServer, or of a package')
    .option('--diff', 'show what changed, and approve nothing')
    .addOption(
      new Option('--digest <digest>', 'approve only if the changes have this digest').argParser(digestPrefix),
    )
    .option('--folder <dir>', 'the folder of its manifest, if several folders have a server of this name')
    .addOption(namespaceOption())
    .addOption(contextOption())
    .addHelpText('after', HELP)
    .action(async (server: string, options: ApproveOptions) => {
      const pending = await pendingOf(server, options, terminal)
      if (options.diff) terminal.out(shown(server, pending, terminal))
      else terminal.out(await approve(server, pending, options))
    })
}

async function pendingOf(server: string, options: ApproveOptions, { env }: Terminal): Promise<Pending> {
  if (options.namespace !== undefined || options.context !== undefined) {
    const { pendingInCluster } = await import('./approve-in-cluster.ts')
    return pendingInCluster(server, options)
  }
  const { pendingHere } = await import('./approve-here.ts')
  return pendingHere(server, options, env)
}

/** What changed, and the commands that approve exactly this. */
function shown(server: string, { packages, approved, found }: Pending, { colors }: Terminal): string {
  const lines = packages.flatMap(({ what, known, found }) => [
    `${what} has other content under the same version:`,
    `  integrity: [-${known}-]{+${found}+}`,
    `To approve exactly this: portolan approve ${server} --digest "${found}"`,
  ])
  const changes = changesOf(approved, found)
  if (!changes) return lines.length > 0 ? lines.join('\n') : nothingChanged(server)
  return [
    ...lines,
    toolDiff(approved, found, colors),
    '',
    `${changesLine(changes)}${hiddenNote(found, changes)}`,
    `To approve exactly this: portolan approve ${server} --digest ${changes.digest}`,
  ].join('\n')
}

/** Approves the changed packages, or the changed tools if no package changed. While a package is refused, its new tools are not known yet. */
async function approve(server: string, pending: Pending, options: ApproveOptions): Promise<string> {
  const { digest } = options
  const { packages } = pending
  if (packages.length === 0 || (digest !== undefined && !isIntegrity(digest)))
    return approveTools(server, pending, options)
  const chosen = packages.filter(({ found }) => digest === undefined || found === digest)
  if (chosen.length === 0)
    throw new CommandError(`the package of ${server} changed again. Look at it with --diff.`)
  const lines: string[] = []
  for (const { what, found, approve } of chosen) lines.push(`${what}: approved ${found}. ${await approve()}`)
  return lines.join('\n')
}

async function approveTools(server: string, pending: Pending, { digest }: ApproveOptions): Promise<string> {
  const { approved, found } = pending
  const changes = changesOf(approved, found)
  if (!changes) return nothingChanged(server)
  if (digest !== undefined && !changes.digest.startsWith(digest))
    throw new CommandError(
      `the tools of ${server} changed again: they have the digest ${changes.digest}. Look at them with --diff.`,
    )
  const note = hiddenNote(found, changes)
  if (digest === undefined && note !== '')
    throw new CommandError(
      `${changesLine(changes)}${note}. Look at it with --diff, then approve it with the digest that it shows.`,
    )
  const effect = await pending.approve(changes.digest)
  return `${server}: approved ${changesLine(changes)}. ${effect}`
}

function nothingChanged(server: string): string {
  return `The tools of ${server} are as they were approved, and no package of it was refused.`
}

/** Part of a sentence about hidden characters in new and changed tools; empty if there are none. */
function hiddenNote(found: readonly ToolDefinition[], { changed, added }: ToolChanges): string {
  const names = new Set([...changed, ...added])
  const hidden = hiddenTextOf(found.filter(({ name }) => names.has(name)))
  return hidden ? `; text that hides characters: ${hidden.findings.join('; ')}` : ''
}

function digestPrefix(text: string): string {
  if ((/^[0-9a-f]+$/.test(text) && text.length >= SHORTEST_DIGEST) || isIntegrity(text)) return text
  throw new InvalidArgumentError(
    `must be ${SHORTEST_DIGEST} hexadecimal digits or more, or the integrity of a package.`,
  )
}
