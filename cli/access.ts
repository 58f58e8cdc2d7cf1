/** `portolan access`: everything that a caller may use of a gateway, and which rule grants it. */
import { Command } from 'commander'
import { notAdmitted } from '../router/access/admits.ts'
import { type GrantedItem, type GrantedServer, grantedTo } from '../router/access/granted.ts'
import type { Catalog } from '../router/catalog/catalog.ts'
import { CommandError } from './command-error.ts'
import { identityOf, type WhoOptions, withWho } from './identity.ts'
import { runGateway } from './live-gateway.ts'
import {
  gatewayOption,
  type ManifestOptions,
  type OutputOption,
  outputOption,
  secretsOption,
} from './options.ts'
import { count, type Terminal, table } from './output.ts'

const HELP = `
  portolan access gateway.yaml servers/ --as group:entra/dev --scopes mcp
  portolan access examples/access/ci-job.yaml --as token:nightly -o json

Starts the servers to read their lists, then stops them. To ask about a single tool without starting servers, use portolan can.`

export function accessCommand(terminal: Terminal): Command {
  const command = new Command('access')
    .description('list what a caller may use of a gateway, and which rule grants it')
    .argument('<paths...>', 'manifests, as files or folders')
  return withWho(command, 'whose access is listed', true)
    .addOption(gatewayOption())
    .addOption(secretsOption())
    .addOption(outputOption())
    .addHelpText('after', HELP)
    .action(async (paths: string[], options: ManifestOptions & OutputOption & WhoOptions) => {
      const identity = Object.freeze(identityOf(options))
      const { gateway: named, secrets, output } = options
      const gateway = await runGateway({ paths, gateway: named, secrets, as: identity }, terminal)
      try {
        const catalog = gateway.catalog()
        if (!catalog) throw new CommandError('the gateway serves nothing yet')
        const why = notAdmitted(catalog.config.access, identity)
        const granted = why === undefined ? grantedTo(catalog, identity) : []
        terminal.out(
          output === 'json'
            ? JSON.stringify(
                {
                  gateway: catalog.config.gateway.name,
                  as: options.as,
                  admitted: why === undefined,
                  why,
                  servers: granted,
                },
                null,
                2,
              )
            : report(catalog, options.as.join(' '), granted, why),
        )
      } finally {
        await gateway.close()
      }
    })
}

/** A table of what a caller may use and which rules grant it; or `why` the caller is not admitted. `who`: as given to `--as`. Pure. */
export function report(
  { config, totals }: Pick<Catalog, 'config' | 'totals'>,
  who: string,
  granted: readonly GrantedServer[],
  why: string | undefined,
): string {
  if (why !== undefined) return `${who} is not admitted by gateway ${config.gateway.name}: ${why}`
  const rows = granted.flatMap(({ server, tools, resources, prompts, unknown }) => [
    ...tools.map(item => row(server, 'tool', item)),
    ...resources.map(item => row(server, 'resource', item)),
    ...prompts.map(item => row(server, 'prompt', item)),
    ...(unknown === undefined ? [] : [[server, '–', '–', `not known: ${unknown}`]]),
  ])
  const tools = granted.reduce((sum, server) => sum + server.tools.length, 0)
  const total = `${who} may use ${count(tools)} of ${count(totals.tools)} tools of gateway ${config.gateway.name}`
  if (rows.length === 0) return total
  return `${table([{ title: 'SERVER' }, { title: 'KIND' }, { title: 'NAME' }, { title: 'RULES' }], rows)}\n\n${total}`
}

function row(server: string, kind: string, { name, rules, needs }: GrantedItem): string[] {
  const by = rules.length === 0 ? 'no rules' : rules.join(', ')
  return [server, kind, name, needs ? `${by}; to call it the token needs ${needs.join(' ')}` : by]
}
