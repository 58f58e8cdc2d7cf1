/** `portolan check`: reports what is wrong with manifests, without running anything. */
import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { cacheFolder } from '../local/config.ts'
import { ManifestFiles } from '../local/files.ts'
import { keptFindings } from '../local/kept-findings.ts'
import { type Reading, readPaths } from '../local/read.ts'
import { scriptFindings } from '../local/script-findings.ts'
import { clusterProblems } from './check-cluster.ts'
import { CommandError } from './command-error.ts'
import {
  gatewayOption,
  type ManifestOptions,
  type OutputOption,
  outputOption,
  secretsOption,
} from './options.ts'
import { noteLine, problemLine, type Terminal } from './output.ts'

const HELP = `
  portolan check servers/                    # for a laptop: also whether Secrets and folders exist
  portolan check --cluster manifests/        # what the operator would refuse, for a pipeline; needs no cluster`

type CheckOptions = ManifestOptions & OutputOption & { cluster?: boolean }

type Report = Pick<Reading, 'problems' | 'notes' | 'files'> & {
  gateway?: string
  servers: string[]
  scripts: string[]
}

export function checkCommand(terminal: Terminal): Command {
  return new Command('check')
    .description('report mistakes in manifests and client configurations, without running anything')
    .argument('<paths...>', 'manifests (files or folders) and client configurations')
    .option('--cluster', 'check them for a cluster, not for a laptop')
    .addOption(gatewayOption())
    .addOption(secretsOption().conflicts('cluster'))
    .addOption(outputOption())
    .addHelpText('after', HELP)
    .action(async (paths: string[], options: CheckOptions) => {
      const files = new ManifestFiles(paths, terminal.env)
      const found = options.cluster
        ? await checkForCluster(files, options)
        : await checkForLaptop(files, options, terminal)
      if (options.output === 'json') terminal.out(JSON.stringify(found, null, 2))
      else print(found, terminal)
      const { length } = found.problems
      if (length > 0) throw new CommandError(counted(length, 'problem'))
    })
}

async function checkForLaptop(
  files: ManifestFiles,
  { gateway, secrets }: CheckOptions,
  { env }: Terminal,
): Promise<Report> {
  const read = await readPaths({
    files,
    env,
    gateway,
    secretsFolder: secrets,
    digestKey: randomBytes(32),
    now: Date.now(),
  })
  const { desired, problems, access, notes } = read
  const cache = cacheFolder(env)
  return {
    files: read.files,
    gateway: desired.gateway?.metadata.name,
    servers: desired.servers.map(({ metadata }) => metadata.name).sort(),
    scripts: desired.scripts.map(({ manifest }) => manifest.metadata.name).sort(),
    problems: [
      ...problems,
      ...access,
      ...(await scriptFindings(desired, read.servers, read.manifests, cache)),
    ],
    notes: [...notes, ...(await keptFindings(read.servers, cache))],
  }
}

async function checkForCluster(files: ManifestFiles, { gateway }: CheckOptions): Promise<Report> {
  const loaded = await files.scan()
  const named = (kind: string) =>
    loaded.manifests
      .filter(({ manifest }) => manifest.kind === kind)
      .map(({ manifest }) => manifest.metadata.name)
      .sort()
  return {
    files: loaded.files,
    gateway,
    servers: named('McpServer'),
    scripts: named('McpScript'),
    problems: [...loaded.problems, ...clusterProblems(loaded.manifests, gateway)],
    notes: loaded.notes,
  }
}

function print({ problems, notes, files, servers, scripts }: Report, terminal: Terminal): void {
  for (const problem of problems) terminal.err(problemLine(problem, terminal.errColors))
  for (const note of notes) terminal.err(noteLine(note, terminal.errColors))
  const found = [
    counted(servers.length, 'server'),
    ...(scripts.length > 0 ? [counted(scripts.length, 'script')] : []),
  ]
  const total = `${found.join(' and ')} in ${counted(files.length, 'file')}`
  terminal.out(problems.length === 0 ? `${total}, no problems` : total)
}

function counted(number: number, noun: string): string {
  return `${number} ${number === 1 ? noun : `${noun}s`}`
}
