/** Watches the inputs of a local gateway: manifests, the secrets folder, and the approvals of tools. */
import { resolve } from 'node:path'
import type { Clock } from '../core/async.ts'
import type { Log } from '../core/log.ts'
import type { Approvals } from './approvals.ts'
import type { Children } from './children.ts'
import type { ManifestFiles } from './files.ts'
import type { Reloader } from './reloader.ts'
import { watchApprovals } from './watch-approvals.ts'
import { type FolderWatcher, watchFolders } from './watch-folders.ts'

/** How many levels below the secrets folder are watched: its files are DIR/<name>/<key>. */
const SECRETS_DEPTH = 1

type Watched = {
  files: ManifestFiles
  reloader: Reloader
  clock: Clock
  approvals: Approvals
  children: Children
  /** Each watcher's stop function is added as soon as the watcher has started. */
  stopWatching: (() => Promise<void>)[]
}

/** Resolves once all watchers are ready. */
export async function watch(
  { files, reloader, clock, stopWatching, approvals, children }: Watched,
  { secretsFolder, log }: { secretsFolder?: string; log: Log },
): Promise<void> {
  let manifests: FolderWatcher | undefined
  const reload = async () => {
    try {
      await reloader.reload()
    } catch (err) {
      log.error({ err }, 'manifests could not be reloaded; the previous configuration stays active')
    }
    // A manifest can name a file in another folder now.
    manifests?.add(await files.folders())
  }
  const onChange = () => void reload()
  const onError = (err: unknown) => log.warn({ err }, 'watching files failed; changes may be missed')
  const concerns = (file: string) => files.concerns(file)
  const folders = await files.folders()
  manifests = await watchFolders({ folders, depth: 0, concerns, onChange, onError }, clock)
  stopWatching.push(manifests.stop)
  const onApproved = () => void children.readApprovals().catch(onError)
  stopWatching.push(await watchApprovals(approvals, clock, onApproved, onError))
  if (secretsFolder !== undefined) {
    const secrets = {
      folders: [resolve(secretsFolder)],
      depth: SECRETS_DEPTH,
      concerns: () => true,
      onChange,
      onError,
    }
    stopWatching.push((await watchFolders(secrets, clock)).stop)
  }
  // What changed between the first read and now is not reported by the watchers.
  await reload()
  onApproved()
}
