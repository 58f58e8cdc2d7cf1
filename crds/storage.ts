/** The field `storage` of an McpServer: a volume that keeps what a server installed. */
import * as z from 'zod'
import { volumeSize } from './quantity.ts'

const CLASS_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

export const storageClassName = z
  .string()
  .max(253)
  .regex(CLASS_NAME, 'must be the name of a StorageClass, such as "fast"')
  .optional()

export const storage = z.strictObject({
  size: volumeSize('1Gi').describe('How large the volume is.'),
  storageClassName: storageClassName.describe("The StorageClass of the volume; default: the cluster's."),
  accessMode: z
    .enum(['ReadWriteOnce', 'ReadWriteMany'])
    .default('ReadWriteOnce')
    .describe(
      'ReadWriteOnce: pods of one node use the volume, so `scaling.max` must be 1. ReadWriteMany: pods of any node, if the StorageClass can.',
    ),
})
