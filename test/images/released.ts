/** A version that was released before, as its users have it: chart and image, built from the commit in this repository's history. */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { cacheFolder } from '../../local/config.ts'
import { type Image, writeImage } from '../cluster/image.ts'

const root = join(import.meta.dirname, '..', '..')
/** 0.1.0 as it was before the chart had admission policies: the newest commit of it that builds. */
export const RELEASED_COMMIT = '375e64d03ab6a0833cc4aa1c0c740a55dc234ed5'
const TAG = 'released'

export type Released = { chart: string; archive: string; tag: string }

/** False, or why the version cannot be built here: for the option `skip` of a test. */
export function skipReleased(): false | string {
  try {
    execFileSync('git', ['-C', root, 'cat-file', '-e', `${RELEASED_COMMIT}^{commit}`], { stdio: 'ignore' })
    return false
  } catch {
    return `upgrades are not tested: commit ${RELEASED_COMMIT.slice(0, 12)} is not in this clone (git fetch --unshallow)`
  }
}

/** Builds chart and image with the commit's own scripts and this clone's packages, once per machine. */
export async function releasedVersion(env: NodeJS.ProcessEnv = process.env): Promise<Released> {
  const folder = join(cacheFolder(env), 'releases', `${RELEASED_COMMIT.slice(0, 12)}-${process.version}`)
  const released = { chart: join(folder, 'charts', 'portolan'), archive: join(folder, 'image.tar'), tag: TAG }
  if (existsSync(folder)) return released
  mkdirSync(join(folder, '..'), { recursive: true })
  const unfinished = mkdtempSync(`${folder}.`)
  const work = mkdtempSync(join(tmpdir(), 'portolan-released-'))
  try {
    await checkOut(['charts'], unfinished)
    await writeImage(await imageOf(work), join(unfinished, 'image.tar'))
    // A concurrent test may have been first.
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    for (const each of [work, unfinished]) rmSync(each, { recursive: true, force: true })
  }
  return released
}

async function imageOf(work: string): Promise<Image> {
  const sources = join(work, 'sources')
  mkdirSync(sources)
  await checkOut(['.'], sources)
  symlinkSync(join(root, 'node_modules'), join(sources, 'node_modules'))
  const { portolanImage } = await import(pathToFileURL(join(sources, 'test', 'images', 'portolan.ts')).href)
  return { ...(await portolanImage(join(work, 'image'))), reference: `portolan/portolan:${TAG}` }
}

/** Writes the commit's files below `paths` into a folder; the clone's own files and index stay as they are. */
async function checkOut(paths: readonly string[], folder: string): Promise<void> {
  const archive = join(folder, '.sources.tar')
  const run = promisify(execFile)
  await run('git', ['-C', root, 'archive', '--output', archive, RELEASED_COMMIT, '--', ...paths])
  await run('tar', ['--extract', '--file', archive, '--directory', folder])
  rmSync(archive)
}
