/** Compares a package in a pod with what earlier pods of its server installed, as the operator keeps it. */
import { readFile } from 'node:fs/promises'
import { Fault, messageOf } from '../core/errors.ts'
import type { PackageSource, Release } from '../core/packages/install.ts'
import {
  integrityChanged,
  type KnownPackages,
  type PackageRecord,
  parseKnown,
  recorded,
  recordOf,
} from '../core/packages/integrity.ts'
import { APPROVE_ANNOTATION } from '../crds/annotations.ts'

export type Comparison = {
  /** Throws Fault `io` (details.reason IntegrityChanged) if the version had other content before, and nobody approved this one. */
  verify(release: Release): Promise<void>
  /** What `verify` accepted. */
  record(): PackageRecord | undefined
}

/** Without the file nothing was installed before. Without an integrity nothing is compared. */
export function createComparison(source: PackageSource, file: string): Comparison {
  let accepted: PackageRecord | undefined
  return {
    async verify(release) {
      const record = recordOf(source, release, process)
      if (!record) return
      const { records, approved } = await readKnown(file)
      const known = recorded(records, record)?.integrity
      if (known !== undefined && known !== record.integrity && approved !== record.integrity)
        throw integrityChanged(record, {
          known,
          where: 'for this server',
          remedy: `set the annotation ${APPROVE_ANNOTATION} of the McpServer to ${record.integrity}`,
        })
      accepted = record
    },
    record: () => accepted,
  }
}

/** A damaged file is an error: it may have held the record that refuses this package. */
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
