/** The parts of Kubernetes' core API that our kinds include: environment, references to Secrets, label selectors. */
import * as z from 'zod'

const MAX_ENTRIES = 256
const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/
/** A header's value that HTTP can transmit: one line without control characters other than tab. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
/** The longest value of a header. */
export const MAX_HEADER_CHARACTERS = 8_192
const KEY = /^[-._a-zA-Z0-9]+$/

const optional = z.boolean().optional().describe('Whether it may be missing.')
const objectName = z.string().min(1).max(253)
const key = z.string().min(1).max(253).regex(KEY, 'must be letters, digits, "-", "_" and "."')

export const secretKeyRef = z.strictObject({
  name: objectName.describe('Name of the Secret, in the same namespace.'),
  key: key.describe('Key within the Secret.'),
  optional,
})

export const configMapKeyRef = z.strictObject({
  name: objectName.describe('Name of the ConfigMap, in the same namespace.'),
  key: key.describe('Key within the ConfigMap.'),
  optional,
})

const fieldRef = z.strictObject({
  apiVersion: z.string().optional(),
  fieldPath: z.string().min(1).describe('Such as `metadata.namespace`.'),
})

const resourceFieldRef = z.strictObject({
  containerName: z.string().optional(),
  resource: z.string().min(1).describe('Such as `limits.memory`.'),
  divisor: z.string().optional(),
})

const envVar = oneValue(
  z.strictObject({
    name: z
      .string()
      .min(1)
      .max(253)
      .regex(ENV_NAME, 'must be letters, digits, "_", "-" and ".", and not begin with a digit')
      .describe('Name of the variable.'),
    value: z.string().max(65_536).optional().describe('The value itself; for secrets use `valueFrom`.'),
    valueFrom: exactlyOne(
      z.strictObject({
        secretKeyRef: secretKeyRef.optional().describe('A key of a Secret.'),
        configMapKeyRef: configMapKeyRef.optional().describe('A key of a ConfigMap.'),
        fieldRef: fieldRef.optional().describe('A field of the pod. Clusters only.'),
        resourceFieldRef: resourceFieldRef
          .optional()
          .describe("A resource of the pod's container. Clusters only."),
      }),
    )
      .optional()
      .describe('Where the value is taken from.'),
  }),
)

/** corev1.EnvVar, a map list by name. */
export const env = mapByName(envVar, MAX_ENTRIES)

const objectRef = z.strictObject({ name: objectName.describe('Name of the object.'), optional })

/** corev1.EnvFromSource. */
export const envFrom = z
  .array(
    exactlyOne(
      z.strictObject({
        prefix: z.string().max(253).optional().describe('Put before every name.'),
        secretRef: objectRef.optional().describe('All keys of a Secret.'),
        configMapRef: objectRef.optional().describe('All keys of a ConfigMap.'),
      }),
    ),
  )
  .max(MAX_ENTRIES)
  .default([])

/** Headers sent to an upstream, a map list by name. */
export function headers(name: z.ZodType<string, string>) {
  const header = z.strictObject({
    name: name.describe('Name of the header.'),
    value: z
      .string()
      .max(MAX_HEADER_CHARACTERS)
      .regex(HEADER_VALUE, 'must be one line without control characters')
      .optional()
      .describe('The value itself; for secrets use `valueFrom`.'),
    valueFrom: exactlyOne(
      z.strictObject({
        secretKeyRef: secretKeyRef.optional().describe('A key of a Secret.'),
        configMapKeyRef: configMapKeyRef.optional().describe('A key of a ConfigMap.'),
      }),
    )
      .optional()
      .describe('Where the value is taken from.'),
  })
  const message = 'needs value or valueFrom'
  const filled = oneValue(header).refine(
    ({ value, valueFrom }) => value !== undefined || valueFrom !== undefined,
    message,
  )
  return mapByName(filled, 64)
}

/** metav1.LabelSelector; empty selects everything. */
export const labelSelector = z.strictObject({
  matchLabels: z.record(z.string(), z.string()).optional().describe('Labels that must have these values.'),
  matchExpressions: z
    .array(
      z.strictObject({
        key: z.string().min(1).describe('The label.'),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('How it is compared.'),
        values: z.array(z.string()).max(MAX_ENTRIES).optional().describe('For In and NotIn.'),
      }),
    )
    .max(64)
    .optional()
    .describe('Conditions that must all hold.'),
})

/** A list whose entries are identified by name, without duplicates. */
function mapByName<Entry extends z.ZodType<{ name: string }>>(entry: Entry, max: number) {
  return z
    .array(entry, { error: 'must be a list whose entries begin with "- name: …"' })
    .max(max)
    .superRefine((entries, context) => {
      entries.forEach(({ name }, index) => {
        if (entries.findIndex(other => other.name === name) === index) return
        const message = `"${name}" is given twice: remove one`
        context.addIssue({ code: 'custom', path: [index, 'name'], message, params: { reason: 'Duplicate' } })
      })
    })
    .default([])
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
}

/** An entry may have `value` or `valueFrom`, not both. */
function oneValue<Entry extends z.ZodType<{ value?: string; valueFrom?: unknown }>>(entry: Entry): Entry {
  const message = 'has both value and valueFrom: remove one'
  return entry
    .refine(({ value, valueFrom }) => value === undefined || valueFrom === undefined, message)
    .meta({ 'x-kubernetes-validations': [{ rule: '!has(self.value) || !has(self.valueFrom)', message }] })
}

/** Exactly one of the fields must be given; `prefix` does not count. */
export function exactlyOne<Entry extends z.ZodObject>(entry: Entry): Entry {
  const keys = Object.keys(entry.shape).filter(key => key !== 'prefix')
  const message = `must have exactly one of ${keys.join(', ')}`
  return entry
    .refine(given => keys.filter(key => given[key] !== undefined).length === 1, message)
    .meta({
      'x-kubernetes-validations': [
        {
          rule: `[${keys.map(key => `has(self.${key})`).join(', ')}].filter(given, given).size() == 1`,
          message,
        },
      ],
    })
}

/** An object that Kubernetes itself validates later: any field is accepted. */
export const freeForm = z.looseObject({})

export type EnvVar = z.output<typeof envVar>
export type EnvFrom = z.output<typeof envFrom>[number]
export type LabelSelector = z.output<typeof labelSelector>
