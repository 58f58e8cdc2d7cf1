/** `portolan can`: says whether the rules of the manifests let a caller use something, without running anything. */
import { randomBytes } from 'node:crypto'
import { Argument, Command } from 'commander'
import type { AccessRule } from '../core/catalog/access-config.ts'
import { parseToolPath } from '../core/catalog/names.ts'
import { resolve } from '../core/catalog/resolve.ts'
import type { RouterConfig } from '../core/catalog/router-config.ts'
import { configMapValues } from '../local/desire.ts'
import { ManifestFiles } from '../local/files.ts'
import { readPaths } from '../local/read.ts'
import { notAdmitted } from '../router/access/admits.ts'
import { type Granted, grantsAlone, NO_RULES, type View, viewOf } from '../router/access/view.ts'
import { withScripts } from '../router/catalog/script-server.ts'
import { CommandError, EXIT } from './command-error.ts'
import { identityOf, type WhoOptions, withWho } from './identity.ts'
import { gatewayOption, type ManifestOptions } from './options.ts'
import { problemLine, type Terminal } from './output.ts'

type Verb = 'call' | 'read' | 'get'

const HELP = `
  portolan can call github:create_issue gateway.yaml servers/ --as group:entra/dev
  portolan can read "files|file:///docs/one.md" gateway.yaml servers/ --as token:ci
  portolan can get  notes:summary gateway.yaml servers/ --as serviceaccount:agents/triage

Prints yes and the rules that grant it (exit code 0), or no (exit code 1); the exit code is 2 without an answer, for example if a manifest is broken. No server is asked, so readOnlyHint of tools is not known here.`

export function canCommand(terminal: Terminal): Command {
  const command = new Command('can')
    .description('say whether a caller may use a tool, a resource or a prompt')
    .addArgument(
      new Argument('<verb>', 'call a tool, read a resource, or get a prompt').choices([
        'call',
        'read',
        'get',
      ]),
    )
    .argument('<target>', 'server:tool, "server|uri" or server:prompt')
    .argument('<paths...>', 'manifests, as files or folders')
  return withWho(command, 'who would do it', true)
    .addOption(gatewayOption())
    .addHelpText('after', HELP)
    .action(async (verb: Verb, target: string, paths: string[], options: ManifestOptions & WhoOptions) => {
      if (targetOf(verb, target)[0] === '')
        throw new CommandError('the target must be server:tool, server:prompt, or "server|uri"', EXIT.usage)
      const config = await configOf(paths, options, terminal)
      const identity = identityOf(options)
      const refusal = notAdmitted(config.access, identity)
      const { yes, why } =
        refusal === undefined
          ? decide(config, viewOf(config.access, identity), verb, target)
          : { yes: false, why: refusal }
      terminal.out(`${yes ? 'yes' : 'no'}: ${why}`)
      if (!yes) process.exitCode = EXIT.failure
    })
}

async function configOf(
  paths: string[],
  { gateway: named }: ManifestOptions,
  terminal: Terminal,
): Promise<RouterConfig> {
  const { env } = terminal
  const files = new ManifestFiles(paths, env)
  const broken = (await files.scan()).problems
  for (const problem of broken) terminal.err(problemLine(problem, terminal.errColors))
  if (broken.length > 0)
    throw new CommandError('the manifests cannot be read completely, and the answer may be wrong', EXIT.usage)
  const { desired, problems } = await readPaths({
    files,
    env,
    gateway: named,
    digestKey: randomBytes(32),
    now: 0,
  })
  const { gateway, servers, scripts, configMaps, undecided } = desired
  if (undecided) throw new CommandError(undecided.message, EXIT.usage)
  if (!gateway) {
    for (const problem of problems) terminal.err(problemLine(problem, terminal.errColors))
    throw new CommandError(
      'there is no McpGateway among the paths: without one everybody may use everything',
      EXIT.usage,
    )
  }
  const values = configMapValues(configMaps, gateway)
  // As for a cluster, where every kind of caller is admitted.
  const resolved = resolve({
    gateway,
    servers,
    scripts,
    observed: new Map(),
    configMaps: values,
    placement: 'cluster',
    now: 0,
  })
  const refused = resolved.problems.filter(({ kind }) => kind === 'McpGateway')
  for (const problem of refused) terminal.err(problemLine(problem, terminal.errColors))
  if (refused.length > 0) throw new CommandError('the gateway is refused, and nobody may use anything')
  return withScripts({ generation: 0, config: resolved.config, catalogs: new Map() }).config
}

/** Whether a caller may use the target, and why. `view`: what the rules let it see; undefined if the gateway has no rules. Pure. */
export function decide(
  config: RouterConfig,
  view: View | undefined,
  verb: Verb,
  target: string,
): { yes: boolean; why: string } {
  const [name, item] = targetOf(verb, target)
  const server = config.servers.find(one => one.name === name)
  if (!server) return { yes: false, why: `there is no server "${name}" in gateway ${config.gateway.name}` }
  if (!view) return { yes: true, why: 'the gateway has no rules' }
  const grants = (rule: AccessRule) => grantsAlone(view, rule, server, grantedOf(verb, item))
  const rules = view.granting.filter(grants).map(rule => rule.name)
  const [challenging] = rules.length === 0 ? view.challenging.filter(grants) : []
  if (challenging)
    return {
      yes: false,
      why: `rule ${challenging.name} requires the scopes ${challenging.scopes.join(', ')} for it`,
    }
  if (rules.length === 0) return { yes: false, why: 'no rule that applies to this caller grants it' }
  return {
    yes: true,
    why: rules.every(name => name === NO_RULES)
      ? 'the gateway has no rules'
      : `granted by ${rules.join(', ')}`,
  }
}

/** The server of a target, and the name or URI of its item; both empty if the text has another form. */
function targetOf(verb: Verb, target: string): [string, string] {
  if (verb !== 'read') {
    const { server = '', tool = '' } = parseToolPath(target) ?? {}
    return [server, tool]
  }
  const at = target.indexOf('|')
  return at < 1 ? ['', ''] : [target.slice(0, at), target.slice(at + 1)]
}

function grantedOf(verb: Verb, item: string): Granted {
  if (verb === 'read') return { uri: item }
  return verb === 'get' ? { prompt: item } : { tool: { name: item, inputSchema: {} } }
}
