/** Recognises npm and PyPI packages in command lines with `npx`, `uvx` and the like, so that they are installed only once. Pure. */
import type { McpServerSpecInput } from '../../crds/server.ts'

export type StdioSource = Pick<McpServerSpecInput, 'npm' | 'pypi' | 'command'>

/** Commands that download and run a package. `quiet`: flags to ignore. `from`: flags whose value is the package; its program then follows. */
const RUNNERS: readonly { words: string[]; quiet: string[]; from: string[]; registry: 'npm' | 'pypi' }[] = [
  { words: ['npx'], quiet: ['-y', '--yes', '-q', '--quiet'], from: ['-p', '--package'], registry: 'npm' },
  {
    words: ['npm', 'exec'],
    quiet: ['-y', '--yes', '-q', '--quiet', '--'],
    from: ['-p', '--package'],
    registry: 'npm',
  },
  { words: ['pnpm', 'dlx'], quiet: ['-s', '--silent'], from: ['--package'], registry: 'npm' },
  { words: ['pnpx'], quiet: ['-s', '--silent'], from: ['--package'], registry: 'npm' },
  { words: ['bunx'], quiet: ['--silent'], from: ['-p', '--package'], registry: 'npm' },
  {
    words: ['uvx'],
    quiet: ['-q', '--quiet', '-n', '--no-cache', '--refresh'],
    from: ['--from'],
    registry: 'pypi',
  },
  { words: ['uv', 'tool', 'run'], quiet: ['-q', '--quiet'], from: ['--from'], registry: 'pypi' },
  { words: ['pipx', 'run'], quiet: ['-q', '--quiet', '--no-cache'], from: ['--spec'], registry: 'pypi' },
]

/** Does not match specs with a version range; these stay commands. `latest` means the newest version at the first installation. */
const NPM_SPEC =
  /^((?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-zA-Z0-9~][a-zA-Z0-9._~-]*)(?:@([0-9A-Za-z][0-9A-Za-z.+_-]*))?$/
const PYPI_SPEC =
  /^([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._, -]+\])?)(?:(?:@|==)([0-9A-Za-z][0-9A-Za-z.!+_-]*))?$/

/** The source for a command line: a package if every part is recognised, else the command itself. */
export function sourceOf(command: string, args: readonly string[], cwd: string | undefined): StdioSource {
  const words = [baseName(command), ...args]
  if (words[0] === 'cmd' && words[1]?.toLowerCase() === '/c') words.splice(0, 2)
  return packageOf(words) ?? { command: { run: command, args: [...args], ...(cwd !== undefined && { cwd }) } }
}

function packageOf(words: readonly string[]): StdioSource | undefined {
  const runner = RUNNERS.find(({ words: prefix }) => prefix.every((word, index) => words[index] === word))
  if (!runner) return undefined
  const rest = words.slice(runner.words.length)
  let from: string | undefined
  while (rest[0]?.startsWith('-')) {
    const [flag, value] = splitFlag(rest.shift() ?? '')
    if (runner.from.includes(flag) && from === undefined) from = value ?? rest.shift()
    else if (!runner.quiet.includes(flag)) return undefined
  }
  const [first, ...args] = rest
  if (first === undefined) return undefined
  return build(runner.registry, from ?? first, from === undefined ? '' : first, args)
}

function build(registry: 'npm' | 'pypi', spec: string, bin: string, args: string[]): StdioSource | undefined {
  const match = (registry === 'npm' ? NPM_SPEC : PYPI_SPEC).exec(spec)
  if (!match?.[1]) return undefined
  const version = match[2] === 'latest' ? undefined : match[2]
  const source = {
    package: match[1],
    ...(version && { version }),
    ...(bin && { bin }),
    ...(args.length > 0 && { args }),
  }
  return registry === 'npm' ? { npm: source } : { pypi: source }
}

/** The flag and its value in `--flag=value`; undefined if it has none. */
function splitFlag(word: string): [string, string | undefined] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)]
}

function baseName(command: string): string {
  const name = command.split(/[\\/]/).at(-1) ?? command
  return name.replace(/\.(cmd|exe|bat)$/i, '')
}
