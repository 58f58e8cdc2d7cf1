/** The program behind `portolan`: parses the command line, runs one command, tells its exit code. */
import { Command, CommanderError } from 'commander'
import { callCommand } from './call.ts'
import { checkCommand } from './check.ts'
import { describeFailure, EXIT } from './failure.ts'
import { importCommand } from './import.ts'
import { createTerminal, type Terminal } from './output.ts'
import { searchCommand } from './search.ts'
import { serversCommand } from './servers.ts'
import { tokensCommand } from './tokens.ts'
import { upCommand } from './up.ts'
import { version } from './version.ts'

function createProgram(terminal: Terminal): Command {
  const program = new Command('portolan')
    .description('Hundreds of MCP tools behind one endpoint that costs an agent a few hundred tokens.')
    .version(version(), '-v, --version')
    .showHelpAfterError('(portolan --help, or portolan COMMAND --help, says more)')
    .helpCommand(false)
    .configureOutput({
      writeOut: text => terminal.out(text.trimEnd()),
      writeErr: text => terminal.err(text.trimEnd()),
    })
    .exitOverride()
  const commands = [
    upCommand,
    checkCommand,
    importCommand,
    serversCommand,
    tokensCommand,
    searchCommand,
    callCommand,
  ]
  for (const command of commands) program.addCommand(command(terminal).copyInheritedSettings(program))
  return program
}

/** Resolves with the exit code. */
export async function runProgram(process: NodeJS.Process): Promise<number> {
  const terminal = createTerminal(process)
  // A reader that has seen enough, such as `head`, is no failure.
  process.stdout.on('error', error =>
    process.exit((error as NodeJS.ErrnoException).code === 'EPIPE' ? EXIT.ok : EXIT.failure),
  )
  try {
    await createProgram(terminal).parseAsync(process.argv)
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    const { message, exitCode } = describeFailure(error)
    terminal.err(`${terminal.errColors.red('error:')} ${message}`)
    return exitCode
  }
}
