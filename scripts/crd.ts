/** Generates CustomResourceDefinitions from the schemas in crds/: structural OpenAPI v3 with CEL rules. Pure. */
import { z } from 'zod'
import { mcpGatewaySchema } from '../crds/gateway.ts'
import { API_GROUP, NAME_RULES } from '../crds/object-meta.ts'
import { mcpScriptSchema } from '../crds/script.ts'
import { mcpServerSchema } from '../crds/server.ts'

/** The part of OpenAPI v3 that our structural schemas use. */
export type Schema = {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  description?: string
  default?: unknown
  properties?: Record<string, Schema>
  additionalProperties?: Schema | false
  items?: Schema
  required?: string[]
  enum?: string[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  'x-kubernetes-validations'?: Validation[]
  'x-kubernetes-list-type'?: string
  'x-kubernetes-preserve-unknown-fields'?: true
}

export type Validation = { rule: string; message: string; fieldPath?: string }

type PrintColumn = { name: string; type: string; jsonPath: string; description?: string; priority?: number }

export type KindDefinition = {
  kind: string
  plural: string
  shortName: string
  description: string
  schema: z.ZodObject
  columns: PrintColumn[]
}

const AGE: PrintColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

/** Our kinds, with their schemas and the columns of `kubectl get`. */
export function kindDefinitions(): KindDefinition[] {
  return [
    {
      kind: 'McpServer',
      plural: 'mcpservers',
      shortName: 'mcps',
      description:
        'An upstream MCP server: where it comes from, how it runs, and which of its tools are offered.',
      schema: mcpServerSchema,
      columns: [
        readyColumn('status'),
        { name: 'Tools', type: 'integer', jsonPath: '.status.tools.count' },
        { name: 'Tokens', type: 'integer', jsonPath: '.status.tools.tokens' },
        { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas.wanted' },
        readyColumn('reason'),
        AGE,
        { name: 'Users', type: 'integer', jsonPath: '.status.users.wanted', priority: 1 },
        { name: 'Why', type: 'string', jsonPath: '.status.replicas.why', priority: 1 },
        { name: 'Protocol', type: 'string', jsonPath: '.status.protocol', priority: 1 },
        { name: 'Endpoint', type: 'string', jsonPath: '.status.endpoint', priority: 1 },
      ],
    },
    {
      kind: 'McpGateway',
      plural: 'mcpgateways',
      shortName: 'mcpgw',
      description: 'One endpoint for agents: which servers stand behind it, and which meta-tools it shows.',
      schema: mcpGatewaySchema,
      columns: [
        readyColumn('status'),
        { name: 'URL', type: 'string', jsonPath: '.status.url' },
        { name: 'Servers', type: 'integer', jsonPath: '.status.servers.selected' },
        { name: 'Tools', type: 'integer', jsonPath: '.status.tools' },
        { name: 'Saved', type: 'string', jsonPath: '.status.tokens.saved' },
        { name: 'Auth', type: 'string', jsonPath: '.status.conditions[?(@.type=="AuthReady")].reason' },
        readyColumn('reason'),
        AGE,
        { name: 'Generation', type: 'integer', jsonPath: '.status.generation', priority: 1 },
      ],
    },
    {
      kind: 'McpScript',
      plural: 'mcpscripts',
      shortName: 'mcpsc',
      description: 'A reviewed script that agents find and call as a tool, with the rights of its caller.',
      schema: mcpScriptSchema,
      columns: [
        readyColumn('status'),
        { name: 'Gateways', type: 'string', jsonPath: '.status.gateways' },
        readyColumn('reason'),
        AGE,
        { name: 'Tools', type: 'string', jsonPath: '.status.tools', priority: 1 },
        { name: 'Reads', type: 'boolean', jsonPath: '.spec.readOnly', priority: 1 },
      ],
    },
  ]
}

/** The CustomResourceDefinition of a kind. */
export function customResourceDefinition(definition: KindDefinition) {
  const { kind, plural, shortName, columns } = definition
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${API_GROUP}` },
    spec: {
      group: API_GROUP,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ['portolan'],
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: structuralSchema(definition) },
        },
      ],
    },
  }
}

/** The structural schema of a kind. The API server allows no schema for the root's metadata, so its restrictions are CEL rules. */
export function structuralSchema({ description, schema }: KindDefinition): Schema {
  const { spec, status } = plainSchema(schema, explainPattern).properties ?? {}
  return {
    type: 'object',
    description,
    required: spec?.default === undefined ? ['spec'] : undefined,
    properties: {
      apiVersion: { type: 'string', description: 'Version of the schema.' },
      kind: { type: 'string', description: 'Kind of the resource.' },
      metadata: { type: 'object' },
      ...(spec && { spec: structural(spec) }),
      ...(status && { status: structural(status) }),
    },
    'x-kubernetes-validations': NAME_RULES,
  }
}

type Override = (context: { zodSchema: z.core.$ZodType; jsonSchema: object }) => void

/** The JSON schema of a manifest, with descriptions. */
export function plainSchema(schema: z.ZodObject, override?: Override): Schema {
  const options = { target: 'openapi-3.0', io: 'input', unrepresentable: 'any', override } as const
  return z.toJSONSchema(schema, options) as Schema
}

/** Replaces a pattern that has a message by a CEL rule, because for a pattern the API server would print only the expression. */
function explainPattern({ zodSchema, jsonSchema }: Parameters<Override>[0]): void {
  const node = jsonSchema as Schema
  const message = node.pattern && patternMessage(zodSchema as Checked, node.pattern)
  if (!node.pattern || !message) return
  const rule = { rule: `self.matches(${JSON.stringify(node.pattern)})`, message }
  const others = node['x-kubernetes-validations']?.filter(other => other.rule !== rule.rule) ?? []
  node['x-kubernetes-validations'] = [rule, ...others]
  delete node.pattern
}

/** The part of zod's internal structure that is read here. */
type Checked = {
  _zod: {
    def: {
      innerType?: Checked
      checks?: { _zod: { def: { pattern?: RegExp; error?: (issue: object) => unknown } } }[]
    }
  }
}

function patternMessage({ _zod: { def } }: Checked, pattern: string): string | undefined {
  if (def.innerType) return patternMessage(def.innerType, pattern)
  const check = def.checks?.find(({ _zod }) => _zod.def.pattern?.source === pattern)
  const message = check?._zod.def.error?.({})
  return typeof message === 'string' ? message : undefined
}

/**
 * Converts a schema to what the API server accepts as structural: without `additionalProperties: false`, with the type of lists and integers.
 * Items of lists get no defaults, which are left to our parser: GitOps tools compare lists as a whole, and would report what the API server adds.
 */
function structural(node: Schema, isInList = false): Schema {
  const { additionalProperties, properties, items, ...rest } = node
  const result: Schema = { ...rest }
  const fields = Object.entries(properties ?? {})
  if (fields.length > 0)
    result.properties = Object.fromEntries(fields.map(([name, field]) => [name, structural(field, isInList)]))
  if (additionalProperties && Object.keys(additionalProperties).length > 0) {
    result.additionalProperties = structural(additionalProperties, isInList)
  } else if (additionalProperties) result['x-kubernetes-preserve-unknown-fields'] = true
  if (items) result.items = structural(items, true)
  if (isInList) delete result.default
  if (node.type === 'array') result['x-kubernetes-list-type'] ??= 'atomic'
  if (node.type === 'integer') result.format = 'int64'
  if (result.maximum === Number.MAX_SAFE_INTEGER) delete result.maximum
  if (node.format === 'date-time') delete result.pattern
  return result
}

function readyColumn(field: 'status' | 'reason'): PrintColumn {
  const name = field === 'status' ? 'Ready' : 'Reason'
  return { name, type: 'string', jsonPath: `.status.conditions[?(@.type=="Ready")].${field}` }
}
