/** `portolan bridge`: serves one stdio server over HTTP, as in a pod, or checks whether an MCP server answers. */
import process from 'node:process'
import { Command, Option } from 'commander'

/** In a pod the bridge listens on every address; elsewhere only on 127.0.0.1, unless `--host` is given. */
const HOST = '127.0.0.1'

/** The options are for the help. The bridge itself reads the command line, knows more options, and refuses what it does not know. */
export function bridgeCommand(): Command {
  return new Command('bridge')
    .description('serve one stdio server over HTTP, as pods do: portolan bridge -- COMMAND')
    .argument('[command...]', 'the server to start, after --')
    .allowUnknownOption()
    .option('--port <port>', 'the port to listen on', '8080')
    .option('--host <host>', 'the address to listen on', HOST)
    .addOption(
      new Option('--sessions <mode>', 'one child process for all callers, or one for each session')
        .choices(['shared', 'perClient'])
        .default('shared'),
    )
    .option('--bearer-file <file>', 'callers must send the token in this file')
    .option('--start-timeout <duration>', 'how long the server may take to start', '60s')
    .option('--idle-after <duration>', 'how long a session may be unused before it ends', '3m')
    .option(
      '--start-file <file>',
      'start the command that an installation wrote into this file; words after -- are further arguments',
    )
    .option(
      '--termination-log <file>',
      'where to write the reason if the bridge gives up',
      '/dev/termination-log',
    )
    .option('--name <server>', 'name of the server in logs and metrics')
    .option('--probe <url>', 'only check whether an MCP server answers at this URL')
    .option('--timeout <duration>', 'with --probe: how long to wait for the answer', '5s')
    .addHelpText('after', '\nWithout arguments it shows all options, and how packages are installed.')
    .action(async () => {
      const { runBridge } = await import('../bridge/program.ts')
      const args = process.argv.slice(process.argv.indexOf('bridge') + 1)
      process.exitCode = await runBridge(['--host', HOST, ...args], process)
    })
}
