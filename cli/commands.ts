/** Runs the commands of a program: parses the command line, runs a command, and returns the exit code. */
import process from 'node:process'
import { Command, CommanderError } from 'commander'
import { reveal } from '../core/hidden-characters.ts'
import { describeFailure, EXIT } from './command-error.ts'
import { createTerminal, type Terminal } from './output.ts'
import { version } from './version.ts'

export type ProgramDefinition = {
  description: string
  commands: readonly ((terminal: Terminal) => Command)[]
}

/** Runs the command that `args` name; resolves with the exit code, which a command may have set itself. */
export async function runCommands(
  { description, commands }: ProgramDefinition,
  args: readonly string[],
): Promise<number> {
  const terminal = createTerminal(process)
  // A reader that stops reading, such as `head`, is not a failure: commands go on to their own exit code, and gateways go on.
  process.stdout.on('error', error => {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') process.exitCode = EXIT.failure
  })
  process.stderr.on('error', () => {})
  const program = createProgram(description, terminal)
  for (const command of commands) program.addCommand(command(terminal).copyInheritedSettings(program))
  try {
    await program.parseAsync(args, { from: 'user' })
    return Number(process.exitCode ?? EXIT.ok)
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    const { message, exitCode } = describeFailure(error)
    terminal.err(`${terminal.errColors.red('error:')} ${reveal(message)}`)
    return exitCode
  }
}

function createProgram(description: string, terminal: Terminal): Command {
  return (
    new Command('portolan')
      .description(description)
      .version(version(), '-v, --version')
      .showHelpAfterError('(see portolan --help, or portolan COMMAND --help)')
      .helpCommand(false)
      // Options after the name of a command are the command's: --version of an installation is that of the package.
      .enablePositionalOptions()
      .configureOutput({
        writeOut: text => terminal.out(text.trimEnd()),
        writeErr: text => terminal.err(text.trimEnd()),
      })
      .exitOverride()
  )
}
