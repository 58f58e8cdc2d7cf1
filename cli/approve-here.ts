/** The changes on this machine that wait for approval, as gateways with this cache folder found them. */
import { resolve } from 'node:path'
import { createApprovals } from '../local/approvals.ts'
import { cacheFolder } from '../local/config.ts'
import { changedPackages } from '../local/packages/integrity.ts'
import type { ApproveOptions, Pending } from './approve.ts'
import { CommandError } from './command-error.ts'

/**
 * `server`: the name of a server or a package. Throws a CommandError if nothing of this name was approved or refused here, or if it changed
 * in several folders.
 */
export async function pendingHere(
  server: string,
  { folder }: Pick<ApproveOptions, 'folder'>,
  env: Readonly<Record<string, string>>,
): Promise<Pending> {
  const approvals = createApprovals(cacheFolder(env))
  const packages = (await changedPackages(cacheFolder(env), server)).map(changed => ({
    ...changed,
    async approve() {
      await changed.approve()
      return 'The next start of its server installs it.'
    },
  }))
  const all = await approvals.of(server)
  const inFolder = folder === undefined ? all : all.filter(kept => kept.folder === resolve(folder))
  const changed = inFolder.filter(({ found }) => found)
  const [kept, another] = changed.length > 0 ? changed : inFolder
  if (!kept && packages.length > 0) return { packages, approved: [], found: [], approve: async () => '' }
  if (!kept)
    throw new CommandError(
      `nothing was approved of a server "${server}" on this machine: it needs spec.tools.pin, and "portolan up" must have read its tools${folder === undefined ? '. In a cluster: --namespace' : ''}`,
    )
  if (another && changed.length > 0) {
    const folders = changed.map(one => one.folder).join(', ')
    throw new CommandError(
      `several folders have a server "${server}" whose tools changed: choose one with --folder: ${folders}`,
    )
  }
  const { approved, found = approved, ...subject } = kept
  return {
    packages,
    approved,
    found,
    async approve() {
      await approvals.save(subject, { approved: found })
      return 'A running gateway serves it at once.'
    },
  }
}
