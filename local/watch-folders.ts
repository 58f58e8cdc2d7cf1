/** Watches folders for changes. A burst of changes leads to one callback. */
import { watch } from 'chokidar'
import type { Clock, Timer } from '../core/async.ts'

/** `onChange` is called after this time without a change, since editors and git change many files at once. */
const DEBOUNCE_MS = 100

export type FolderWatch = {
  folders: readonly string[]
  /** How many levels of subfolders are watched too. */
  depth: number
  /** Whether a change of this file or folder is reported. */
  concerns: (file: string) => boolean
  onChange: () => void
  onError: (error: unknown) => void
}

/** Resolves once the watcher is ready; returns a function that stops it. */
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
