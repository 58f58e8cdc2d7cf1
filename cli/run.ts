/** `portolan run`: runs a script as an agent would, in code mode. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { CommandError, EXIT } from './command-error.ts'
import { assumedIdentity, type WhoOptions, withWho } from './identity.ts'
import { type LiveGateway, openGateway } from './live-gateway.ts'
import { type AskOptions, withGateway } from './options.ts'
import type { Terminal } from './output.ts'
import { readGiven } from './paths.ts'
import { answerText } from './tool-answer.ts'

const STDIN = 0
const TOOL = 'run_mcp_script'

export function runCommand(terminal: Terminal): Command {
  const command = new Command('run')
    .description('run a script that calls tools, as an agent would in code mode')
    .argument('<file>', 'JavaScript, or - to read it from standard input')
    .option('--input <json>', 'the value of `input` in the script')
  return withWho(withGateway(command), 'who runs it, with PATHs')
    .addHelpText(
      'after',
      '\nExample:\n  portolan run examples/code/sum.js examples/code examples/laptop/everything.yaml',
    )
    .action(
      async (
        file: string,
        paths: string[],
        { output, input, ...options }: AskOptions & Partial<WhoOptions> & { input?: string },
      ) => {
        const code = file === '-' ? readFileSync(STDIN, 'utf8') : readGiven(file)
        const { url, gateway: named, secrets, ...who } = options
        const gateway = await openGateway(
          { url, gateway: named, secrets, as: assumedIdentity(who), paths, runsScripts: true },
          terminal,
        )
        try {
          if (paths.length === 0) await mustRunScripts(gateway, url)
          const args: JsonObject = { code, ...(input !== undefined && { input: parseInput(input) }) }
          const params = { name: TOOL, arguments: args }
          const result = await gateway.request('tools/call', params)
          if (result.isError === true && output === 'table') throw new CommandError(answerText(result))
          terminal.outRaw(output === 'json' ? JSON.stringify(result, null, 2) : answerText(result))
          if (result.isError === true) throw new CommandError('the script failed')
        } finally {
          await gateway.close()
        }
      },
    )
}

async function mustRunScripts(gateway: LiveGateway, url: string): Promise<void> {
  const { tools } = await gateway.request('tools/list', {})
  if (Array.isArray(tools) && tools.some(tool => isObject(tool) && tool.name === TOOL)) return
  throw new CommandError(
    `the gateway at ${url} runs no scripts: start it with --code, set spec.code.enabled, or give PATHs`,
  )
}

function parseInput(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandError(`--input is not JSON: write texts with quotes, such as '"text"'`, EXIT.usage)
  }
}
