/** `portolan call`: calls one tool through the gateway. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { isObject, type JsonObject } from '../core/json.ts'
import type { LocalStatus } from '../local/local-status.ts'
import { CommandError, EXIT } from './command-error.ts'
import { assumedIdentity, type WhoOptions, withWho } from './identity.ts'
import { openGateway } from './live-gateway.ts'
import { type AskOptions, withGateway } from './options.ts'
import type { Terminal } from './output.ts'
import { answerText } from './tool-answer.ts'

const STDIN = 0

export function callCommand(terminal: Terminal): Command {
  const command = new Command('call')
    .description('call one tool through the gateway')
    .argument('<tool>', 'path of the tool, server:tool')
    .argument('[arguments]', 'a JSON object, or - to read it from standard input', '{}')
  return withWho(withGateway(command), 'who calls, with PATHs')
    .addHelpText(
      'after',
      `\nExample:\n  portolan call time:get_current_time '{"timezone": "UTC"}' examples/laptop`,
    )
    .action(
      async (
        tool: string,
        text: string,
        paths: string[],
        { output, ...options }: AskOptions & Partial<WhoOptions>,
      ) => {
        const args = parseArguments(text)
        const { url, gateway: named, secrets, ...who } = options
        const as = assumedIdentity(who)
        const given = { url, gateway: named, secrets, as, paths }
        const gateway = await openGateway({ ...given, enough: status => isUp(status, tool) }, terminal)
        try {
          const params = { name: 'execute_mcp_tool', arguments: { tool_path: tool, arguments: args } }
          const result = await gateway.request('tools/call', params)
          if (result.isError === true && output === 'table') throw new CommandError(answerText(result))
          terminal.outRaw(output === 'json' ? JSON.stringify(result, null, 2) : answerText(result))
          if (result.isError === true) throw new CommandError('the tool reported an error')
        } finally {
          await gateway.close()
        }
      },
    )
}

function parseArguments(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text === '-' ? readFileSync(STDIN, 'utf8') : text)
  } catch {
    value = undefined
  }
  if (isObject(value)) return value
  throw new CommandError(
    `the arguments must be a JSON object, such as '{"timezone": "UTC"}', and stand before any paths`,
    EXIT.usage,
  )
}

/** Whether the called server is up: servers that hang must not delay calls of others. False for a script, which may call any server. */
function isUp({ servers }: LocalStatus, tool: string): boolean {
  const name = tool.split(/:|__/)[0]
  const server = servers.find(other => other.name === name)
  if (server?.transport === 'script') return false
  return server !== undefined && (server.state === 'ready' || server.state === 'asleep') && server.tools > 0
}
