/** Tells when something in some folders changed, once for a burst of changes. */
import { watch } from 'chokidar'
import type { Clock, Timer } from '../core/async.ts'

/** Editors and git touch many files at once. */
const DEBOUNCE_MS = 100

export type FolderWatch = {
  folders: readonly string[]
  /** Levels below the folders that count too. */
  depth: number
  concerns: (file: string) => boolean
  onChange: () => void
  onError: (error: unknown) => void
}

/** Resolves once changes are seen; returns the way to stop. */
export async function watchFolders(options: FolderWatch, clock: Clock): Promise<() => Promise<void>> {
  let timer: Timer | undefined
  const watcher = watch([...options.folders], {
    depth: options.depth,
    ignoreInitial: true,
    ignorePermissionErrors: true,
  })
  watcher.on('all', (_event, file) => {
    if (!options.concerns(file)) return
    timer?.cancel()
    timer = clock.after(DEBOUNCE_MS, options.onChange)
  })
  watcher.on('error', options.onError)
  await new Promise<void>(resolve => watcher.once('ready', resolve))
  return async () => {
    timer?.cancel()
    await watcher.close()
  }
}
