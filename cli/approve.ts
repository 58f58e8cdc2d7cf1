/** `portolan approve`: shows what changed in the tools of a server whose manifest pins them, and approves it. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { hiddenTextOf } from '../core/catalog/hidden-text.ts'
import type { ToolDefinition } from '../core/catalog/server-catalog.ts'
import { changesLine, changesOf, type ToolChanges } from '../core/catalog/tool-changes.ts'
import { CommandError } from './command-error.ts'
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

/** The tools of one server that were approved, and those that it has now. */
export type Pending = {
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

For servers with spec.tools.pin in their manifest. Hidden characters are shown in ⟨ ⟩; text that has them can be approved only with --digest.`

export function approveCommand(terminal: Terminal): Command {
  return new Command('approve')
    .description('approve the changed tools of a server that pins them, or show what changed')
    .argument('<server>', 'the name of the McpServer')
    .option('--diff', 'show what changed, and approve nothing')
    .addOption(
      new Option('--digest <digest>', 'approve only if the changes have this digest').argParser(digestPrefix),
    )
    .option('--folder <dir>', 'the folder of its manifest, if several folders have a server of this name')
    .option('-n, --namespace <name>', 'approve in a cluster, in this namespace')
    .option('--context <name>', 'the context of the kubeconfig that names the cluster')
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

function shown(server: string, { approved, found }: Pending, { colors }: Terminal): string {
  const changes = changesOf(approved, found)
  if (!changes) return nothingChanged(server)
  return [
    toolDiff(approved, found, colors),
    '',
    `${changesLine(changes)}${hiddenNote(found, changes)}`,
    `To approve exactly this: portolan approve ${server} --digest ${changes.digest}`,
  ].join('\n')
}

async function approve(server: string, pending: Pending, { digest }: ApproveOptions): Promise<string> {
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
  const said = await pending.approve(changes.digest)
  return `${server}: approved ${changesLine(changes)}. ${said}`
}

function nothingChanged(server: string): string {
  return `The tools of ${server} are as they were approved.`
}

/** Of the tools that changed: what they hide. */
function hiddenNote(found: readonly ToolDefinition[], { changed, added }: ToolChanges): string {
  const names = new Set([...changed, ...added])
  const hidden = hiddenTextOf(found.filter(({ name }) => names.has(name)))
  return hidden ? `; text that hides characters: ${hidden.told.join('; ')}` : ''
}

function digestPrefix(text: string): string {
  if (/^[0-9a-f]+$/.test(text) && text.length >= SHORTEST_DIGEST) return text
  throw new InvalidArgumentError(`must be ${SHORTEST_DIGEST} hexadecimal digits or more.`)
}
