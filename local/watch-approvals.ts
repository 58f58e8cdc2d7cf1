/** Watches the stored approvals, which `portolan approve` changes. */
import { mkdir } from 'node:fs/promises'
import type { Clock } from '../core/async.ts'
import type { Approvals } from './approvals.ts'
import { watchFolders } from './watch-folders.ts'

/** Resolves once the watcher is ready; returns a function that stops it. */
export async function watchApprovals(
  { folder }: Approvals,
  clock: Clock,
  onChange: () => void,
  onError: (error: unknown) => void,
): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const concerns = (file: string) => file.endsWith('.json')
  return (await watchFolders({ folders: [folder], depth: 0, concerns, onChange, onError }, clock)).stop
}
