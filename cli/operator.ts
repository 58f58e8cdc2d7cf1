/** `portolan operator`: runs the controllers against the cluster that it finds itself in. */
import process from 'node:process'
import { Command } from 'commander'

export function operatorCommand(): Command {
  return new Command('operator')
    .description('run the operator: McpServers become pods, McpGateways become routers')
    .addHelpText(
      'after',
      '\nPORTOLAN_* environment variables configure it; the chart sets them. Outside of a cluster, KUBECONFIG names the cluster.',
    )
    .action(async () => {
      const { runOperator } = await import('../operator/program.ts')
      process.exitCode = await runOperator(process)
    })
}
