/** The program in the image: the commands that run in a cluster, one of them chosen by words or by the environment. */
import { runCommands } from '../commands.ts'
import { crdsCommand } from '../crds.ts'
import { operatorCommand } from '../operator.ts'
import { routerCommand } from '../router.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Resolves with the exit code. Without arguments PORTOLAN_COMMAND names the command: who adds a sidecar by a
 * MutatingAdmissionPolicy can set environment variables, but no arguments.
 */
export function runContainer(args: readonly string[], env: Env): Promise<number> {
  return runCommands(
    {
      description:
        'The parts of Portolan that run in a cluster. Without a command PORTOLAN_COMMAND names it.',
      commands: [operatorCommand, routerCommand, crdsCommand],
    },
    args.length === 0 && env.PORTOLAN_COMMAND ? [env.PORTOLAN_COMMAND] : args,
  )
}
