/** The kind McpScript: a reviewed script that agents call as a tool. */
import * as z from 'zod'
import { conditions } from './conditions.ts'
import { freeForm } from './core-v1.ts'
import { API_VERSION, ownMetadata } from './object-meta.ts'

const MAX_CODE = 65_536
const MAX_SCHEMA_CHARACTERS = 16_384

const inputSchema = freeForm
  .refine(schema => schema.type === 'object', {
    error: 'must be a JSON schema with "type: object": the arguments of a tool have names',
    params: { reason: 'Invalid' },
  })
  .refine(schema => JSON.stringify(schema).length <= MAX_SCHEMA_CHARACTERS, {
    error: `must have at most ${MAX_SCHEMA_CHARACTERS} characters as JSON`,
    params: { reason: 'OutOfRange' },
  })

const scriptSpec = z.strictObject({
  title: z.string().min(1).max(128).optional().describe('Name for people.'),
  description: z
    .string()
    .min(1)
    .max(4_096)
    .describe('What the script does, for agents, who find it by this text.'),
  category: z.string().min(1).max(128).optional().describe('A group of tools, such as `devops`.'),
  keywords: z
    .array(z.string().min(1).max(128))
    .max(64)
    .default([])
    .describe('Additional words by which it is found.'),
  inputSchema: inputSchema
    .prefault({ type: 'object', properties: {}, additionalProperties: false })
    .describe('JSON schema of its arguments, which the code sees as `input`. Default: no arguments.'),
  readOnly: z
    .boolean()
    .default(false)
    .describe(
      'Whether it only reads. It may then call only tools that are known to only read: by `tools.overrides.*.readOnly` of their McpServer, or by their hints where `tools.trustHints` is set.',
    ),
  code: z
    .string()
    .min(1)
    .max(MAX_CODE)
    .describe(
      'JavaScript, as for run_mcp_script: the body of an async function, or a whole function of `input`. It runs with the rights of whoever calls it.',
    ),
})

const count = z.int().min(0)

export const scriptStatus = z.strictObject({
  conditions: conditions.describe('Accepted and Ready.'),
  observedGeneration: count.optional().describe('The generation of the spec that the status refers to.'),
  gateways: z
    .array(z.string().max(253))
    .max(100)
    .optional()
    .describe('Gateways that offer it. At most 100 are named.'),
  tools: z
    .array(z.string().max(512))
    .max(100)
    .optional()
    .describe('Tools that its code names. At most 100 are named.'),
})

export const mcpScriptSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('McpScript'),
  metadata: ownMetadata,
  spec: scriptSpec.describe('What the script does, what it takes, and its code.'),
  status: scriptStatus.optional().describe('The observed state; written by Portolan.'),
})

/** With all defaults filled in. */
export type McpScript = z.output<typeof mcpScriptSchema>
export type McpScriptStatus = z.output<typeof scriptStatus>
