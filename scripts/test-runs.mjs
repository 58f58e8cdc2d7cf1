/** Runs test files with Node's runner, and sums up several runs at the end. Plain JavaScript for Node 20. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './bootstrap.mjs'

const TALLY = pathToFileURL(join(root, 'scripts', 'tally.mjs')).href
const FAST_LIMIT_MS = 300_000
/** More than two cores can run at once: many tests wait, for servers to start or for timers. */
const FAST_GROUPS = 4
/** Of a whole file with a cluster in it; its tests have limits of their own. */
const SLOW_LIMIT_MS = 1_800_000

export function isFast(file) {
  return !file.endsWith('.slow.test.ts')
}

/** The test files in these folders, and these files, relative to the project. */
export function testFilesOf(places) {
  const files = places.flatMap(place => (place.endsWith('.ts') ? [place] : testFiles(join(root, place))))
  return [...new Set(files)].sort()
}

function testFiles(folder) {
  if (!existsSync(folder)) return []
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && entry.name.endsWith('.test.ts'))
      .map(entry => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
      // the tests' own clients are installed beside them
      .filter(path => !path.includes('node_modules'))
  )
}

/** The folder of this process's test runs, made when first asked for. With the process it goes, after the summary of the runs is written. */
export function runsFolder() {
  let folder
  return () => {
    if (folder) return folder
    folder = mkdtempSync(join(tmpdir(), 'portolan-tests-'))
    process.on('exit', () => {
      process.stdout.write(summary(folder))
      rmSync(folder, { recursive: true, force: true })
    })
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))
    return folder
  }
}

/**
 * Fast tests find an empty cache and an empty home, always: one that needs what has to be built or fetched first fails
 * here, before it fails on a new machine. It belongs into a *.slow.test.ts, and what it needs into test/needs/.
 */
export function withNothing(env, folder) {
  const { PORTOLAN_MODEL, XDG_CACHE_HOME, ...rest } = env
  const [home, cache] = [join(folder, 'home'), join(folder, 'cache')]
  for (const empty of [home, cache]) {
    rmSync(empty, { recursive: true, force: true })
    mkdirSync(empty)
  }
  return { ...rest, HOME: home, PORTOLAN_CACHE: cache }
}

/** Files dealt out like cards, so that each group has some of every folder. */
export function fastGroups(files) {
  const groups = Array.from({ length: Math.min(FAST_GROUPS, files.length) }, () => [])
  for (const [at, file] of files.entries()) groups[at % groups.length].push(file)
  return groups
}

/**
 * Node's arguments for these files. What they tell is also added up in a file of `folder`, for `summary`. `shared`: the files
 * run one after the other in one process, which saves most of the CPU of fast ones: Node starts, and modules load, once.
 */
export function testArgs(files, { folder, title, concurrency = 2, shared = false }) {
  const limit = files.every(isFast) ? FAST_LIMIT_MS : SLOW_LIMIT_MS
  const tally = join(folder, `${title}.tally`)
  // a run that is killed before it writes anything is counted too
  writeFileSync(tally, '')
  return [
    '--test',
    shared ? '--test-isolation=none' : `--test-concurrency=${concurrency}`,
    `--test-timeout=${limit}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${TALLY}`,
    `--test-reporter-destination=${tally}`,
    ...files,
  ]
}

/** What was skipped in all runs, by reason, and a line of totals. A run that ended before its own total counts as a failure. */
function summary(folder) {
  const runs = readdirSync(folder).filter(name => name.endsWith('.tally'))
  const told = runs.map(name =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map(text => JSON.parse(text)),
  )
  const counts = told.map(
    lines => lines.find(line => line.counts)?.counts ?? { passed: 0, failed: 1, skipped: 0 },
  )
  const total = outcome => counts.reduce((sum, count) => sum + count[outcome], 0)
  const skipped = told.flat().flatMap(line => line.skipped ?? [])
  const totals = `${total('passed')} passed, ${total('failed')} failed, ${total('skipped')} skipped\n`
  return `${skippedByReason(skipped)}${totals}`
}

function skippedByReason(skipped) {
  const byReason = new Map()
  for (const { file, reason } of skipped) {
    const files = byReason.get(reason) ?? byReason.set(reason, new Map()).get(reason)
    files.set(file, (files.get(file) ?? 0) + 1)
  }
  const paragraphs = [...byReason].map(([reason, files]) => {
    const lines = [...files].map(([file, count]) => `  ${relative(root, file)} (${count})\n`)
    return `skipped: ${reason === true ? 'no reason given' : reason}\n${lines.join('')}`
  })
  return paragraphs.join('')
}
