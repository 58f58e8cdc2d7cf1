/** `portolan servers`: shows the current state of a gateway's servers. */
import { Command } from 'commander'
import { hiddenTextLine } from '../core/catalog/hidden-text.ts'
import { changesLine } from '../core/catalog/tool-changes.ts'
import type { LocalStatus, ServerStatusLine } from '../local/local-status.ts'
import { openGateway } from './live-gateway.ts'
import { type OutputOption, outputOption, type UrlOption, urlOption } from './options.ts'
import { type Cell, type Colors, count, type Terminal, table } from './output.ts'
import { remark, wordOf } from './server-state.ts'

const MAX_NAMED = 12

export function serversCommand(terminal: Terminal): Command {
  return new Command('servers')
    .description('show the state of the servers of a running gateway')
    .addOption(urlOption())
    .addOption(outputOption())
    .action(async ({ url, output }: UrlOption & OutputOption) => {
      const gateway = await openGateway({ url, paths: [] }, terminal)
      try {
        const status = await gateway.status()
        terminal.out(
          output === 'json'
            ? JSON.stringify(status.servers, null, 2)
            : [serverTable(status, terminal.colors), ...changesLines(status), ...notOfferedLine(status)].join(
                '\n\n',
              ),
        )
      } finally {
        await gateway.close()
      }
    })
}

/** A line that names the servers that are not offered elicitation, sampling and roots; no line if there are none. Pure. */
export function notOfferedLine({ servers }: Pick<LocalStatus, 'servers'>): string[] {
  const names = servers.flatMap(({ name, notOffered }) => (notOffered === undefined ? [] : [name]))
  if (names.length === 0) return []
  const more = names.length - MAX_NAMED
  const named = [...names.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
  return [
    `Not offered elicitation, sampling and roots, because several clients (all, or those of one user) share a session: ${named}.\nWith sessions: perClient in their manifests, they are offered these.`,
  ]
}

/** Tools that changed since they were approved, and text that hides characters, with what to do. Pure. */
export function changesLines({ servers }: Pick<LocalStatus, 'servers'>): string[] {
  const changed = servers.flatMap(({ name, changes }) =>
    changes
      ? `${name}: tools changed since they were approved (${changesLine(changes)}), and ${changes.pin === 'Hold' ? 'are held back' : 'are served'}.\n  Look at them with portolan approve ${name} --diff`
      : [],
  )
  const hidden = servers.flatMap(({ name, hiddenText }) =>
    hiddenText ? `${name}: text hides characters: ${hiddenTextLine(hiddenText)}` : [],
  )
  const lines = [...changed, ...hidden]
  return lines.length > 0 ? [lines.join('\n')] : []
}

/** One line per server: state, protocol, tools, tokens, and what is wrong. Pure. */
export function serverTable({ servers }: Pick<LocalStatus, 'servers'>, colors: Colors): string {
  if (servers.length === 0) return 'no servers'
  const rows = servers.map(server => {
    const known = server.transport === 'script' || server.discovery.at !== undefined
    return [
      server.name,
      stateCell(server, colors),
      server.transport,
      server.protocol ?? '–',
      known ? count(server.tools) : '–',
      known ? count(server.tokens) : '–',
      [remark(server), colors.dim],
    ] satisfies Cell[]
  })
  const right = 'right' as const
  return table(
    [
      { title: 'SERVER' },
      { title: 'STATE' },
      { title: 'TRANSPORT' },
      { title: 'PROTOCOL' },
      { title: 'TOOLS', align: right },
      { title: 'TOKENS', align: right },
      { title: '' },
    ],
    rows,
  )
}

function stateCell(server: ServerStatusLine, colors: Colors): Cell {
  const { state } = server
  const word = wordOf(server)
  if (state === 'ready' || state === 'asleep') return [word, colors.green]
  if (state === 'starting') return [word, colors.yellow]
  return [word, state === 'suspended' ? colors.dim : colors.red]
}
