/** Arguments for running test files with Node's test runner, and a summary of several runs. Plain JavaScript for Node 20. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './bootstrap.mjs'

const TALLY = pathToFileURL(join(root, 'scripts', 'tally.mjs')).href
const FAST_LIMIT_MS = 300_000
/** More than two cores can execute at a time, because many tests wait for servers or timers. */
const FAST_GROUPS = 4
/** For a whole file, which may start a cluster. Its tests have their own limits. */
const SLOW_LIMIT_MS = 1_800_000

export function isFast(file) {
  return !file.endsWith('.slow.test.ts')
}

/** Whether a test file compares its results with golden files, which `npm run golden` rewrites. */
export function hasGolden(file) {
  return readFileSync(join(root, file), 'utf8').includes('.fileSnapshot(')
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
      // The packages of test/clients are installed there.
      .filter(path => !path.includes('node_modules'))
  )
}

/** Returns a function that creates the folder of this process's test runs. When the process exits, prints a summary and removes the folder. */
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
 * The environment of fast tests has an empty cache and home folder, so that a test with other dependencies fails on every machine,
 * not only on a new one. Such a test belongs in a *.slow.test.ts, and its dependencies in test/needs/.
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

/** Distributes the files round-robin, so that each group has some of every folder. */
export function fastGroups(files) {
  const groups = Array.from({ length: Math.min(FAST_GROUPS, files.length) }, () => [])
  for (const [at, file] of files.entries()) groups[at % groups.length].push(file)
  return groups
}

/**
 * Node's arguments for these files. Their counts are also written to a file in `folder`, for `summary`. With `shared`, all files run
 * in one process, one after another, which saves most of the CPU time of fast tests: Node starts, and modules load, only once.
 */
export function testArgs(files, { folder, title, concurrency = 2, shared = false }) {
  const limit = files.every(isFast) ? FAST_LIMIT_MS : SLOW_LIMIT_MS
  const tally = join(folder, `${title}.tally`)
  // An empty file, so that a run that is killed before it writes anything counts as a failure.
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

/** The skipped tests of all runs, by reason, and a line of totals. A run that wrote no totals counts as a failure. */
function summary(folder) {
  const runs = readdirSync(folder).filter(name => name.endsWith('.tally'))
  const reports = runs.map(name =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map(text => JSON.parse(text)),
  )
  const counts = reports.map(
    lines => lines.find(line => line.counts)?.counts ?? { passed: 0, failed: 1, skipped: 0 },
  )
  const total = outcome => counts.reduce((sum, count) => sum + count[outcome], 0)
  const skipped = reports.flat().flatMap(line => line.skipped ?? [])
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
