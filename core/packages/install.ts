/** Installs an npm or PyPI package into a separate folder, and finds the program to start. */
import { mkdir, rm } from 'node:fs/promises'
import { Fault, messageOf } from '../errors.ts'
import { installNpm } from './npm.ts'
import { installPypi } from './pypi.ts'
import type { RunOptions } from './run.ts'

export type PackageSource = {
  kind: 'npm' | 'pypi'
  package: string
  /** Default: the latest version. */
  version?: string
  /** The program to start, if the package has several. */
  bin?: string
}

export type InstallOptions = RunOptions & {
  /** The registry or index to install from. Default: the one that npm, uv or pip is configured with. */
  registry?: string
  /** Throws if the package must not be used. Called before any code of an npm package runs, and after a PyPI package was installed. */
  verify?: (release: Release) => Promise<void>
}

/** Identifies the content of a package: the same version and variant should always have the same integrity. */
export type Release = {
  version: string
  /** PyPI only: the version of Python, on which the content depends, because it selects the wheel. */
  variant?: string
  /** npm: `dist.integrity` of the registry. PyPI: a digest of the installed files. Undefined if it is not known. */
  integrity: string | undefined
}

/** The installed version, and the path of the program to start. */
export type Installed = { version: string; program: string }

/**
 * Replaces `folder` by the installation, and removes it if the installation fails. Throws Fault `io` (details.reason
 * InstallFailed, PackageManagerMissing or BinNotFound) or `cancelled`.
 */
export async function installPackage(
  source: PackageSource,
  folder: string,
  options: InstallOptions,
): Promise<Installed> {
  try {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true })
    return await (source.kind === 'npm' ? installNpm : installPypi)(source, folder, options)
  } catch (error) {
    await rm(folder, { recursive: true, force: true }).catch(() => {})
    if (error instanceof Fault && (error.code === 'cancelled' || error.details.reason !== undefined))
      throw error
    throw new Fault('io', `${source.package} could not be installed. ${messageOf(error)}`, {
      cause: error,
      details: { reason: 'InstallFailed' },
    })
  }
}
