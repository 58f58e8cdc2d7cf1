/** The program behind `portolan`: all commands, each loaded when it is used. */
import type { Command } from 'commander'
import { runCommands } from './commands.ts'
import type { Terminal } from './output.ts'

type Env = Readonly<Record<string, string | undefined>>
type Load = () => Promise<(terminal: Terminal) => Command>

/** In the order of the help. Only the help loads all of them. */
const COMMANDS: Readonly<Record<string, Load>> = {
  up: async () => (await import('./up.ts')).upCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  import: async () => (await import('./import.ts')).importCommand,
  servers: async () => (await import('./servers.ts')).serversCommand,
  users: async () => (await import('./users.ts')).usersCommand,
  logins: async () => (await import('./logins.ts')).loginsCommand,
  tokens: async () => (await import('./tokens.ts')).tokensCommand,
  search: async () => (await import('./search.ts')).searchCommand,
  eval: async () => (await import('./eval.ts')).evalCommand,
  call: async () => (await import('./call.ts')).callCommand,
  run: async () => (await import('./run.ts')).runCommand,
  access: async () => (await import('./access.ts')).accessCommand,
  can: async () => (await import('./can.ts')).canCommand,
  approve: async () => (await import('./approve.ts')).approveCommand,
  console: async () => (await import('./console.ts')).consoleCommand,
  model: async () => (await import('./model.ts')).modelCommand,
  operator: async () => (await import('./operator.ts')).operatorCommand,
  router: async () => (await import('./router.ts')).routerCommand,
  bridge: async () => (await import('./bridge.ts')).bridgeCommand,
  crds: async () => (await import('./crds.ts')).crdsCommand,
}

/**
 * Runs a command and resolves with the exit code. Without arguments, PORTOLAN_COMMAND names the command: a MutatingAdmissionPolicy that
 * adds a sidecar can set environment variables, but no arguments.
 */
export async function runProgram(args: readonly string[], env: Env): Promise<number> {
  const words = args.length === 0 && env.PORTOLAN_COMMAND ? [env.PORTOLAN_COMMAND] : args
  const named = Object.entries(COMMANDS).filter(([name]) => name === words[0])
  const loads = named.length > 0 ? named : Object.entries(COMMANDS)
  return runCommands(
    {
      description: 'Hundreds of MCP tools behind one endpoint that costs an agent a few hundred tokens.',
      commands: await Promise.all(loads.map(([, load]) => load())),
    },
    words,
  )
}
