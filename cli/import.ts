/** `portolan import`: converts a client's list of servers into manifests, on standard output. */
import { resolve } from 'node:path'
import { Command } from 'commander'
import { importConfig } from '../local/import/client-config.ts'
import { renderImported } from '../local/import/render.ts'
import { readEnvFile } from '../local/imported.ts'
import { CommandError } from './command-error.ts'
import { type OutputOption, outputOption } from './options.ts'
import { noteLine, problemLine, type Terminal } from './output.ts'
import { readGiven } from './paths.ts'

export function importCommand(terminal: Terminal): Command {
  return new Command('import')
    .description("convert a client's list of servers (mcp.json, claude_desktop_config.json) into manifests")
    .argument('<file>', 'the configuration of Claude, Cursor, VS Code or another client')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nValues that look like secrets are not written, except in URLs: references to Secrets replace them.',
    )
    .action((file: string, { output }: OutputOption) => {
      const config = importConfig(readGiven(file), {
        file: resolve(file),
        home: terminal.env.HOME,
        readEnvFile,
      })
      for (const problem of config.problems) terminal.err(problemLine(problem, terminal.errColors))
      for (const note of config.notes) terminal.err(noteLine(note, terminal.errColors))
      const { servers, problems } = config
      const manifests = servers.map(({ input }) => input)
      if (output === 'json') terminal.out(JSON.stringify(manifests, null, 2))
      else if (manifests.length > 0) terminal.out(renderImported(config).trimEnd())
      if (problems.length > 0)
        throw new CommandError(`${problems.length} of its entries could not be imported`)
    })
}
