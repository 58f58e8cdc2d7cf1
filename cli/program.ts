/** The program behind `portolan`: every command there is. */
import { bridgeCommand } from './bridge.ts'
import { callCommand } from './call.ts'
import { checkCommand } from './check.ts'
import { runCommands } from './commands.ts'
import { crdsCommand } from './crds.ts'
import { evalCommand } from './eval.ts'
import { importCommand } from './import.ts'
import { modelCommand } from './model.ts'
import { operatorCommand } from './operator.ts'
import { routerCommand } from './router.ts'
import { searchCommand } from './search.ts'
import { serversCommand } from './servers.ts'
import { tokensCommand } from './tokens.ts'
import { upCommand } from './up.ts'

/** Resolves with the exit code. */
export function runProgram(args: readonly string[]): Promise<number> {
  return runCommands(
    {
      description: 'Hundreds of MCP tools behind one endpoint that costs an agent a few hundred tokens.',
      commands: [
        upCommand,
        checkCommand,
        importCommand,
        serversCommand,
        tokensCommand,
        searchCommand,
        evalCommand,
        callCommand,
        modelCommand,
        operatorCommand,
        routerCommand,
        bridgeCommand,
        crdsCommand,
      ],
    },
    args,
  )
}
