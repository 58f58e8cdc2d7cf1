/** The parts of a manifest besides its spec: API group, metadata and names. */
import * as z from 'zod'

export const API_GROUP = 'portolan.dev'
export const API_VERSION = 'portolan.dev/v1alpha1'
export const MAX_NAME_LENGTH = 45
export const RESERVED_NAME = 'portolan'
/** A DNS-1035 label. */
export const NAME_PATTERN = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
/** A DNS-1123 subdomain: names of Secrets and ConfigMaps. */
const SUBDOMAIN_PATTERN = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/

const NAME_HELP =
  'must be lower-case letters, digits and "-", begin with a letter and end with a letter or digit, such as "my-server"'

const ownName = z
  .string()
  .regex(NAME_PATTERN, { error: NAME_HELP, abort: true })
  .max(MAX_NAME_LENGTH, `must have at most ${MAX_NAME_LENGTH} characters`)
  .refine(name => name !== RESERVED_NAME, {
    error: `"${RESERVED_NAME}" is reserved: choose another name`,
    params: { reason: 'NameReserved' },
  })

const foreignName = z
  .string()
  .min(1)
  .max(253)
  .regex(SUBDOMAIN_PATTERN, 'must be lower-case letters, digits, "-" and "."')

/** Rules on the whole object, for the CRDs, whose schema cannot constrain the fields of `metadata`. */
export const NAME_RULES = [
  {
    rule: `size(self.metadata.name) <= ${MAX_NAME_LENGTH}`,
    message: `metadata.name must have at most ${MAX_NAME_LENGTH} characters`,
  },
  { rule: `self.metadata.name.matches('${NAME_PATTERN.source}')`, message: `metadata.name ${NAME_HELP}` },
  {
    rule: `self.metadata.name != '${RESERVED_NAME}'`,
    message: `metadata.name "${RESERVED_NAME}" is reserved: choose another name`,
  },
]

/** Metadata of an McpServer, McpGateway or McpScript. */
export const ownMetadata = metadata(ownName)

/** Metadata of a Secret or ConfigMap. */
export const foreignMetadata = metadata(foreignName)

function metadata<Name extends z.ZodType<string>>(name: Name) {
  return z.strictObject({
    name: name.describe('How it is called.'),
    namespace: z
      .string()
      .max(63)
      .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be lower-case letters, digits and "-"')
      .optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
    generation: z.int().optional(),
    resourceVersion: z.string().optional(),
    uid: z.string().optional(),
    // Set by the API server; accepted, but never used from a file.
    creationTimestamp: z.unknown().optional(),
    deletionTimestamp: z.unknown().optional(),
    deletionGracePeriodSeconds: z.unknown().optional(),
    finalizers: z.array(z.string()).optional(),
    generateName: z.string().optional(),
    managedFields: z.unknown().optional(),
    ownerReferences: z.unknown().optional(),
    selfLink: z.unknown().optional(),
  })
}
