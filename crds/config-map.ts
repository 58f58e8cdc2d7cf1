/** The core v1 ConfigMap, which manifest files may contain for `configMapKeyRef` and `envFrom`. */
import * as z from 'zod'
import { foreignMetadata } from './object-meta.ts'

export const configMapSchema = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ConfigMap'),
  metadata: foreignMetadata,
  immutable: z.boolean().optional(),
  data: z.record(z.string(), z.string()).optional(),
  binaryData: z.record(z.string(), z.string()).optional(),
})

export type ConfigMap = z.output<typeof configMapSchema>
