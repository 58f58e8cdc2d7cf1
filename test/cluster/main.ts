/** `npm run cluster`: builds, starts, uses and ends a real Kubernetes on this machine. */
import { spawn } from 'node:child_process'
import { Command, InvalidArgumentError } from 'commander'
import { type OwnCluster, openCluster, startCluster } from './cluster.ts'
import { clusterConfig } from './config.ts'
import { BUILD_TAKES, programFolder, programsBuilt, readyPrograms } from './programs.ts'
import { clusterNames, endCluster, endOrphans } from './sweep.ts'

const DEFAULT_NAME = 'portolan'
const NAME = ['--name <name>', 'name of the cluster', DEFAULT_NAME] as const
const config = clusterConfig()
const say = (line: string) => void process.stderr.write(`${line}\n`)

const command = new Command('npm run cluster --')
command
  .description('A real Kubernetes for tests, in network and mount namespaces of this machine')
  .enablePositionalOptions()
command.command('build').description(`build Kubernetes and helm, once (${BUILD_TAKES})`).action(build)
command
  .command('up')
  .description('start a cluster; builds the programs first if they are missing')
  .option('--nodes <count>', 'number of nodes', wholeNumber, 1)
  .option(...NAME)
  .action(up)
command
  .command('down')
  .description('end a cluster, and remove what interrupted tests left behind')
  .option(...NAME)
  .action(down)
command
  .command('status')
  .description('show whether the programs are built, and which clusters run')
  .action(status)
command
  .command('run')
  .description('run a command in the network of a cluster, such as kubectl get pods')
  .option(...NAME)
  .argument('<command...>')
  .passThroughOptions()
  .action(runInside)

await command.parseAsync().catch((error: Error) => {
  say(`cluster: ${error.message}`)
  process.exitCode = 1
})

async function build(): Promise<void> {
  say(`programs: ${await readyPrograms(config.cache)}`)
}

async function up({ name, nodes }: { name: string; nodes: number }): Promise<void> {
  if (isUp(openCluster(config, name))) return say(`${name} is up: npm run cluster -- status`)
  const cluster = await startCluster({ name, nodes, config, say })
  say(`KUBECONFIG=${cluster.kubeconfig}\nnpm run cluster -- run kubectl get nodes`)
}

async function down({ name }: { name: string }): Promise<void> {
  await endCluster(config.folder, name)
  const orphans = await endOrphans(config.folder)
  say(`ended: ${[name, ...orphans].join(', ')}`)
}

async function status(): Promise<void> {
  const built = programsBuilt(config.cache) ? 'built' : 'not built'
  process.stdout.write(`programs  ${built}  ${programFolder(config.cache)}\n`)
  for (const name of clusterNames(config.folder)) {
    const cluster = openCluster(config, name)
    const states = cluster?.components.map(
      component => `  ${component}  ${cluster.running(component) ? 'runs' : 'does not run'}\n`,
    )
    process.stdout.write(
      `${name}  ${cluster?.kubeconfig ?? 'incomplete, from an interrupted start: end it with down'}\n`,
    )
    process.stdout.write(states?.join('') ?? '')
  }
}

async function runInside(args: string[], { name }: { name: string }): Promise<void> {
  const cluster = openCluster(config, name)
  if (!cluster) throw new Error(`${name} is not up: npm run cluster -- up`)
  const {
    command: [file = '', ...rest],
    env,
  } = cluster.inside(args)
  const child = spawn(file, rest, { stdio: 'inherit', env: { ...process.env, ...env } })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  process.exitCode = await new Promise<number>((resolve, reject) =>
    child.on('error', reject).on('exit', code => resolve(code ?? 1)),
  )
}

function isUp(cluster: OwnCluster | undefined): boolean {
  return cluster?.components.every(component => cluster.running(component)) ?? false
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('it must be a whole number')
  return Number(text)
}
