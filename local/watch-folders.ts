/** Watches folders for changes. A burst of changes leads to one callback. */
import { watch } from 'chokidar'
import type { Clock, Timer } from '../core/async.ts'

/** `onChange` is called after this time without a change, since editors and git change many files at once. */
const DEBOUNCE_MS = 100
/** `onChange` is called after this time at the latest, since a file that is written all the time must not keep other changes waiting. */
const LONGEST_MS = 1_000

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
  /** Watches these folders, too; nothing happens for those that are watched already. */
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
  watcher.on('all', (_event, file) => {
    if (options.concerns(file)) debounce.changed()
  })
  watcher.on('error', options.onError)
  await new Promise<void>(resolve => watcher.once('ready', resolve))
  let isStopped = false
  return {
    add(folders) {
      // A closed watcher would be opened again.
      if (!isStopped) watcher.add([...folders])
    },
    async stop() {
      isStopped = true
      debounce.cancel()
      await watcher.close()
    },
  }
}

/** Calls `report` once for each burst of changes. */
export function createDebounce(clock: Clock, report: () => void): { changed(): void; cancel(): void } {
  let timer: Timer | undefined
  let latest: number | undefined
  return {
    changed() {
      const now = clock.now()
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
