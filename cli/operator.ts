/** `portolan operator`: runs the controllers against the cluster that it finds itself in. */
import process from 'node:process'
import { Command } from 'commander'

export function operatorCommand(): Command {
  return new Command('operator')
    .description('run the operator: McpServers become pods, McpGateways become routers')
    .addHelpText(
      'after',
      '\nIt is set by PORTOLAN_* variables, as the chart does; outside of a cluster KUBECONFIG says which one.',
    )
    .action(async () => {
      const { runOperator } = await import('../operator/program.ts')
      process.exitCode = await runOperator(process)
    })
}
