/** Watches folders for changes. A burst of changes leads to one callback. */
import { stat } from 'node:fs/promises'
import { watch } from 'chokidar'
import type { Clock, Timer } from '../core/async.ts'

/** `onChange` is called after this time without a change, since editors and git change many files at once. */
const DEBOUNCE_MS = 100
/** `onChange` is called after this time at the latest, since a file that is written all the time must not keep other changes waiting. */
const LONGEST_MS = 1_000
/** How often missing folders are looked for. */
const SEARCH_MS = 2_000

export type FolderWatch = {
  folders: readonly string[]
  /** How many levels of subfolders are watched too. */
  depth: number
  /** Whether a change of this file or folder is reported. */
  concerns: (file: string) => boolean
  onChange: () => void
  onError: (error: unknown) => void
}

export type FolderWatcher = {
  /** Watches these folders, too, also those that do not exist yet. */
  add(folders: readonly string[]): void
  stop(): Promise<void>
}

/** Resolves once the watcher is ready. */
export async function watchFolders(options: FolderWatch, clock: Clock): Promise<FolderWatcher> {
  const debounce = createDebounce(clock, options.onChange)
  const watcher = watch([...options.folders], {
    depth: options.depth,
    ignoreInitial: true,
    ignorePermissionErrors: true,
  })
  const folders = new Set(options.folders)
  const search = createSearch(clock, () => {
    // A folder that was moved away is not watched any more, and is skipped by `add`.
    watcher.unwatch([...folders])
    watcher.add([...folders])
    debounce.changed()
  })
  watcher.on('all', (event, file) => {
    if (event === 'unlinkDir' && folders.has(file)) search.add(file)
    if (options.concerns(file)) debounce.changed()
  })
  watcher.on('error', options.onError)
  await new Promise<void>(resolve => watcher.once('ready', resolve))
  let isStopped = false
  const lookFor = (paths: readonly string[]) => {
    for (const path of paths) void isThere(path).then(found => found || search.add(path))
  }
  lookFor(options.folders)
  return {
    add(more) {
      // A closed watcher would be opened again.
      if (isStopped) return
      watcher.add([...more])
      for (const folder of more) folders.add(folder)
      lookFor(more)
    },
    async stop() {
      isStopped = true
      search.cancel()
      debounce.cancel()
      await watcher.close()
    },
  }
}

/** Looks for missing paths, and calls `onFound` when some are there. */
function createSearch(clock: Clock, onFound: () => void): { add(path: string): void; cancel(): void } {
  const missing = new Set<string>()
  let isCancelled = false
  let timer: Timer | undefined
  const look = async () => {
    const paths = [...missing]
    const found = await Promise.all(paths.map(isThere))
    if (isCancelled) return
    timer = undefined
    for (const [at, path] of paths.entries()) if (found[at]) missing.delete(path)
    if (found.includes(true)) onFound()
    schedule()
  }
  const schedule = () => {
    if (missing.size > 0 && !isCancelled) timer ??= clock.after(SEARCH_MS, () => void look())
  }
  return {
    add(path) {
      missing.add(path)
      schedule()
    },
    cancel() {
      isCancelled = true
      timer?.cancel()
    },
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** Calls `report` once for each burst of changes. */
export function createDebounce(clock: Clock, report: () => void): { changed(): void; cancel(): void } {
  let timer: Timer | undefined
  let latest: number | undefined
  return {
    changed() {
      const now = clock.elapsed()
      latest ??= now + LONGEST_MS
      timer?.cancel()
      timer = clock.after(Math.min(DEBOUNCE_MS, latest - now), () => {
        latest = undefined
        report()
      })
    },
    cancel: () => timer?.cancel(),
  }
}
