/** Compares a package in a pod with the records of earlier pods of the same server, which the operator stores. */
import { readFile } from 'node:fs/promises'
import { Fault, messageOf } from '../core/errors.ts'
import type { PackageSource, Release } from '../core/packages/install.ts'
import {
  idOf,
  integrityChanged,
  type KnownPackages,
  type PackageRecord,
  parseKnown,
  recorded,
} from '../core/packages/integrity.ts'
import { APPROVE_ANNOTATION } from '../crds/annotations.ts'

export type Comparison = {
  /** Throws Fault `io` (reason IntegrityChanged) if the version had different content before and this content is not approved. */
  verify(release: Release): Promise<void>
  /** The record that `verify` accepted. */
  record(): PackageRecord | undefined
}

/** If the file is missing, there are no records yet. A package without integrity is not recorded, and refused if it was recorded with one. */
export function createComparison(source: PackageSource, file: string): Comparison {
  let accepted: PackageRecord | undefined
  return {
    async verify(release) {
      const id = idOf(source, release, process)
      const { integrity } = release
      const { records, approved } = await readKnown(file)
      const known = recorded(records, id)?.integrity
      if (known !== undefined && known !== integrity && (integrity === undefined || approved !== integrity))
        throw integrityChanged(id, {
          found: integrity,
          known,
          where: 'for this server',
          remedy: integrity
            ? `set the annotation ${APPROVE_ANNOTATION} of the McpServer to ${integrity}`
            : 'delete the pods of the server and the ConfigMap that its records come from',
        })
      if (integrity !== undefined) accepted = { ...id, integrity }
    },
    record: () => accepted,
  }
}

/** A damaged file is an error, because it may contain a record that differs from this package. */
async function readKnown(file: string): Promise<KnownPackages> {
  try {
    return parseKnown(await readFile(file, 'utf8'))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return { records: [] }
    throw new Fault(
      'io',
      `The records of installed packages in ${file} cannot be read: ${messageOf(cause)}. Correct or delete the ConfigMap that they come from.`,
      { cause, details: { reason: 'InstallFailed' } },
    )
  }
}
