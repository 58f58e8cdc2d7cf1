/** `portolan router`: serves one gateway's tools, from the Kubernetes API or from another router. */
import process from 'node:process'
import { Command } from 'commander'

export function routerCommand(): Command {
  return new Command('router')
    .description("run a router in a cluster: one gateway's endpoint for agents")
    .addHelpText(
      'after',
      '\nPORTOLAN_* environment variables configure it; the operator sets them. On a laptop, use portolan up.',
    )
    .action(async () => {
      const { runRouter } = await import('../router/program.ts')
      process.exitCode = await runRouter(process)
    })
}
