/** `portolan check`: says what is wrong with manifests, without running anything. */
import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { cacheFolder } from '../local/config.ts'
import { ManifestFiles } from '../local/files.ts'
import { keptFindings } from '../local/kept-findings.ts'
import { type Reading, readPaths } from '../local/read.ts'
import { CommandError } from './command-error.ts'
import {
  gatewayOption,
  type ManifestOptions,
  type OutputOption,
  outputOption,
  secretsOption,
} from './options.ts'
import { noteLine, problemLine, type Terminal } from './output.ts'

export function checkCommand(terminal: Terminal): Command {
  return new Command('check')
    .description('report mistakes in manifests and client configurations, without running anything')
    .argument('<paths...>', 'manifests (files or folders) and client configurations')
    .addOption(gatewayOption())
    .addOption(secretsOption())
    .addOption(outputOption())
    .action(async (paths: string[], { gateway, secrets, output }: ManifestOptions & OutputOption) => {
      const read = await readPaths({
        files: new ManifestFiles(paths, terminal.env),
        env: terminal.env,
        gateway,
        secretsFolder: secrets,
        digestKey: randomBytes(32),
        now: Date.now(),
      })
      const found = await keptFindings(read.servers, cacheFolder(terminal.env))
      const problems = [...read.problems, ...read.access]
      const reading = { ...read, problems, notes: [...read.notes, ...found] }
      if (output === 'json') terminal.out(JSON.stringify(asJson(reading), null, 2))
      else tell(reading, terminal)
      const { length } = reading.problems
      if (length > 0) throw new CommandError(length === 1 ? '1 problem' : `${length} problems`)
    })
}

function tell({ problems, notes, files, desired }: Reading, terminal: Terminal): void {
  for (const problem of problems) terminal.err(problemLine(problem, terminal.errColors))
  for (const note of notes) terminal.err(noteLine(note, terminal.errColors))
  const { length } = desired.servers
  const servers = `${length} ${length === 1 ? 'server' : 'servers'} in ${files.length} ${files.length === 1 ? 'file' : 'files'}`
  terminal.out(problems.length === 0 ? `${servers}, no problems` : servers)
}

function asJson({ problems, notes, files, desired }: Reading) {
  return {
    files,
    gateway: desired.gateway?.metadata.name,
    servers: desired.servers.map(({ metadata }) => metadata.name).sort(),
    problems,
    notes,
  }
}
