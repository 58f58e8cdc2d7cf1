/** What the console needs of the process that runs the servers, besides what the router knows. */
import type { AccessConfig } from '../../core/catalog/access-config.ts'
import type { ConsoleAction, ConsoleChanges, ConsoleServer, ConsoleState } from '../../core/console/shapes.ts'

export type ConsoleHost = {
  placement: ConsoleState['placement']
  /** The actions on servers that administrators of the gateway have. */
  actions: ConsoleState['actions']
  /** Whether callers are different people, none of whom is known to be an administrator of the gateway. */
  distinguishesCallers(access: AccessConfig): boolean
  /** Whether it is ready, and mistakes in the manifests. */
  state(): Pick<ConsoleState, 'ready' | 'problems'>
  /** What discovery knows of a server; undefined if it is not run here. */
  server(name: string): Pick<ConsoleServer, 'since' | 'list' | 'changes' | 'hiddenText'> | undefined
  /** The last lines of its standard error, oldest first, without secrets. */
  stderr(name: string): string[]
  /** Its manifest as YAML, without values of env and headers; undefined if there is none. */
  manifest(name: string): string | undefined
  /** What changed in its tools since they were approved. */
  changes(name: string): Promise<ConsoleChanges>
  /** Throws a Fault with what to do instead. */
  act(action: ConsoleAction): Promise<void>
}
