/** The core v1 Secret, which manifest files may contain for `secretKeyRef` and `envFrom`. */
import * as z from 'zod'
import { foreignMetadata } from './object-meta.ts'

const BASE64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

export const secretSchema = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: foreignMetadata,
  type: z.string().optional(),
  immutable: z.boolean().optional(),
  data: z
    .record(
      z.string(),
      z.string().refine(text => BASE64.test(text.replaceAll(/\s/g, '')), {
        error: 'must be base64: put plain text under stringData instead',
      }),
    )
    .optional(),
  stringData: z.record(z.string(), z.string()).optional(),
})

export type Secret = z.output<typeof secretSchema>
