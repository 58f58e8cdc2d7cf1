/** The kind McpGateway: the schema from which the type, the CRD, validation and the reference page are made. */
import * as z from 'zod'
import {
  accessRules,
  auditArguments,
  auditEvents,
  auditOverflow,
  auditSink,
  auth,
  gatewayTools,
  gatewayUrl,
  rateLimits,
} from './access.ts'
import { code } from './code.ts'
import { conditions } from './conditions.ts'
import { freeForm, labelSelector, secretKeyRef } from './core-v1.ts'
import { exposure } from './exposure.ts'
import { API_VERSION, ownMetadata } from './object-meta.ts'
import { payloads } from './server.ts'

export const profile = z.enum(['hierarchical', 'search', 'registry', 'direct', 'code'])

const profiles = z.strictObject({
  default: profile
    .default('hierarchical')
    .describe(
      'What is served at /mcp. hierarchical: meta-tools that find, call and read. search: meta-tools with exact selection, patterns and schemas on demand. registry: meta-tools, and the tools that the agent activated. direct: all tools, and no meta-tools. code: a search, and scripts that call what it finds; needs `spec.code.enabled`.',
    ),
  allowed: z.array(profile).max(5).default([]).describe('Other profiles that are served, at /mcp/<profile>.'),
})

const url = z
  .string()
  .max(2_048)
  .regex(/^https?:\/\/[^\s/]+/, 'must be a URL that begins with https:// or http://')

const search = z.strictObject({
  semantic: z
    .enum(['auto', 'none'])
    .default('auto')
    .describe(
      'auto: also by meaning, if the model of the embedded encoder is installed. none: by words only.',
    ),
  embeddings: z
    .strictObject({
      url: url.describe(
        'OpenAI-compatible, such as https://api.openai.com/v1, or text-embeddings-inference, such as http://tei/embed.',
      ),
      model: z.string().min(1).max(256).describe('Name of the model.'),
      secretRef: secretKeyRef.optional().describe('The Secret and key that hold the API key.'),
    })
    .optional()
    .describe(
      'An embeddings service that the routers use instead of the embedded encoder. While it is unavailable, tools are found by words only.',
    ),
})

const budget = z.strictObject({
  definitionTokens: z
    .int()
    .min(500)
    .max(1_000_000)
    .default(5_000)
    .describe('Limit of the definitions in the profile registry, the meta-tools included.'),
  activeTools: z
    .int()
    .min(1)
    .max(1_000)
    .default(10)
    .describe('Limit of tools that are active at a time in the profile registry.'),
  responseTokens: z
    .int()
    .min(200)
    .max(100_000)
    .default(1_200)
    .describe('Limit of one answer of a meta-tool.'),
})

const router = z.strictObject({
  replicas: z.int().min(0).max(100).default(2).describe('Number of routers.'),
  resources: freeForm.optional().describe('Resources of the container, as in a pod.'),
  autoscaling: freeForm
    .optional()
    .describe(
      'minReplicas, maxReplicas, metrics and so on, as in a HorizontalPodAutoscaler, which then replaces `replicas`. By CPU unless `metrics` are given; an empty list of metrics means none.',
    ),
  service: freeForm
    .optional()
    .describe('Parts of the Service, such as type, and its labels and annotations.'),
  expose: exposure,
  pod: freeForm
    .optional()
    .describe('Parts of the pod, merged as in an McpServer. Its container is named "router".'),
  debug: z.boolean().default(false).describe('Whether /debug/status is open.'),
})

const gatewaySpec = z.strictObject({
  servers: z
    .strictObject({ selector: labelSelector.prefault({}).describe('By labels; empty selects all.') })
    .prefault({})
    .describe('Which McpServers of the namespace are offered.'),
  profiles: profiles.prefault({}).describe('Which meta-tools agents see.'),
  expose: z
    .strictObject({
      servers: z.boolean().default(false).describe('Whether /servers/<name>/mcp serves one server alone.'),
    })
    .prefault({})
    .describe('What is served besides the profiles.'),
  search: search.prefault({}).describe('How tools are found.'),
  budget: budget.prefault({}).describe('Limits in tokens (o200k_base).'),
  url: gatewayUrl,
  auth,
  access: accessRules,
  tools: gatewayTools,
  rateLimits,
  code,
  audit: z
    .strictObject({
      payloads: payloads
        .default('none')
        .describe('How much of arguments and results may be logged: none, redacted or full.'),
      events: auditEvents,
      arguments: auditArguments,
      sink: auditSink,
      onOverflow: auditOverflow,
    })
    .prefault({})
    .describe('What the request log and the audit stream contain.'),
  from: z
    .array(
      z.strictObject({
        namespaceSelector: labelSelector.describe('Namespaces by labels; empty selects all.'),
      }),
    )
    .max(64)
    .default([])
    .describe(
      "From which namespaces the gateway can be reached, besides its own: ingress of the routers' NetworkPolicy. A Service of type LoadBalancer or NodePort, or spec.router.expose, admits all. Clusters only.",
    ),
  router: router.prefault({}).describe('How the router runs in a cluster. A laptop ignores it.'),
})

const count = z.int().min(0)

export const gatewayStatus = z.strictObject({
  conditions: conditions.describe('Accepted, Available, Progressing, Ready, AuthReady, AccessResolved.'),
  observedGeneration: count.optional().describe('The generation of the spec that the status refers to.'),
  url: z.string().optional().describe('Where agents reach the gateway within the cluster.'),
  servers: z
    .strictObject({
      selected: count.optional().describe('Servers that the selector matches.'),
      ready: count.optional().describe('Selected servers that are ready.'),
    })
    .optional()
    .describe('Servers behind the gateway.'),
  tools: count.optional().describe('Tools that can be found.'),
  generation: count
    .optional()
    .describe('The newest generation of the catalog; a router that serves it is up to date.'),
  tokens: z
    .strictObject({
      direct: count.optional().describe('What listing all tools would cost an agent.'),
      exposed: count.optional().describe('What listing the meta-tools costs.'),
      saved: z.string().optional().describe('The difference in percent, or "costs more than direct".'),
    })
    .optional()
    .describe('Tokens of tools/list (o200k_base).'),
  search: z
    .strictObject({
      semantic: z
        .enum(['embedded', 'endpoint', 'off'])
        .describe(
          'embedded: also by meaning, with the embedded encoder. endpoint: also by meaning, with an embeddings service. off: by words only.',
        ),
      reason: z.string().max(1_000).optional().describe('Why search by meaning is off or does not work.'),
    })
    .optional()
    .describe('How tools are found.'),
  access: z
    .array(
      z.strictObject({
        name: z.string().describe('Name of the rule.'),
        servers: count.describe('Servers that it selects.'),
        tools: count.optional().describe('Tools that it grants; absent until its servers were discovered.'),
      }),
    )
    .max(256)
    .optional()
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .describe('What each rule of `spec.access` grants.'),
  routers: z
    .array(
      z.strictObject({
        pod: z.string().describe('Name of the pod.'),
        generation: count.optional().describe('The catalog generation that it serves.'),
      }),
    )
    .max(100)
    .optional()
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['pod'] })
    .describe('Which catalog each router serves.'),
})

export const mcpGatewaySchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('McpGateway'),
  metadata: ownMetadata,
  spec: gatewaySpec.prefault({}).describe('What agents are offered, and how.'),
  status: gatewayStatus.optional().describe('The observed state; written by Portolan.'),
})

/** With all defaults filled in. */
export type McpGateway = z.output<typeof mcpGatewaySchema>
export type McpGatewaySpec = McpGateway['spec']
export type McpGatewayStatus = z.output<typeof gatewayStatus>
