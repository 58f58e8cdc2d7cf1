/** The kind McpServer: the schema from which the type, the CRD, validation and the reference page are made. */
import * as z from 'zod'
import { conditions } from './conditions.ts'
import { env, envFrom, freeForm, headers } from './core-v1.ts'
import { headerName } from './header-name.ts'
import { API_VERSION, ownMetadata } from './object-meta.ts'
import { bytes, duration } from './quantity.ts'
import { SERVER_RULES, toValidations } from './rules.ts'
import { auth } from './server-auth.ts'
import { command, image, npm, pypi, remote } from './sources.ts'
import { storage } from './storage.ts'
import { users } from './users.ts'

const MAX_PATTERNS = 1_000

const scaling = z.strictObject({
  min: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .describe(
      'Instances that are kept running. 0: the server sleeps when it is idle, and the next call wakes it. Default 1 in a cluster, 0 on a laptop.',
    ),
  max: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe(
      'Maximum number of instances: if greater than `min`, as many run as the calls in flight need. Clusters only.',
    ),
  callsPerPod: z
    .int()
    .min(1)
    .max(1_024)
    .default(10)
    .describe(
      'Calls in flight for each instance: if there are more, another instance is started, up to `max`. After five minutes in which fewer would have been enough, one instance is stopped each minute. Clusters only.',
    ),
  external: z
    .boolean()
    .default(false)
    .describe(
      'Leaves the number of instances to a HorizontalPodAutoscaler of your own or to KEDA: `max` and `callsPerPod` have no effect, and the operator does not wake the server. Clusters only.',
    ),
  idleAfter: duration('3m')
    .default('3m')
    .describe(
      'Time without a call, subscription or session of a client after which a server with `min: 0` is stopped until the next call; in a cluster, also the time after which an unused session of a stdio server with `sessions: perClient` ends. Such sessions of servers over HTTP end after five minutes.',
    ),
})

const toolPattern = z.string().min(1).max(256)

const toolOverride = z.strictObject({
  description: z.string().min(1).max(8_192).optional().describe('Replaces the description.'),
  keywords: z
    .array(z.string().min(1).max(128))
    .max(64)
    .default([])
    .describe('Additional words by which the tool is found.'),
  category: z.string().min(1).max(128).optional().describe('Replaces the category of the server.'),
  readOnly: z
    .boolean()
    .optional()
    .describe('Whether the tool only reads. Callers with `readOnly` rules may use only such tools.'),
})

const tools = z.strictObject({
  allow: z
    .array(toolPattern)
    .max(MAX_PATTERNS)
    .default(['*'])
    .describe('Names of tools to offer; `*` stands for any characters.'),
  deny: z
    .array(toolPattern)
    .max(MAX_PATTERNS)
    .default([])
    .describe('Names of tools to leave out; takes precedence over `allow`.'),
  pin: z
    .enum(['Warn', 'Hold'])
    .optional()
    .describe(
      'What happens if a tool changes after it was approved. Warn: the change is reported. Hold: it is reported, and the changed or new tool is hidden and its calls are refused until the change is approved, by `portolan approve` or the annotation `portolan.dev/approve`. The tools of the first list are approved automatically.',
    ),
  trustHints: z
    .boolean()
    .default(false)
    .describe("Whether the server's `readOnlyHint` counts where callers may only use read-only tools."),
  overrides: z.record(z.string(), toolOverride).default({}).describe('Changes to individual tools, by name.'),
})

const limits = z.strictObject({
  callTimeout: duration('60s').default('60s').describe('How long one call may take.'),
  startTimeout: duration('60s')
    .default('60s')
    .describe('How long the server may take to start and answer initialize.'),
  concurrency: z
    .int()
    .min(1)
    .max(1_024)
    .default(16)
    .describe('Maximum number of calls in flight; further calls wait in a short queue.'),
  maxResultBytes: bytes('1Mi')
    .default('1Mi')
    .describe('The largest result that is passed on without being cut.'),
})

export const payloads = z.enum(['none', 'redacted', 'full'])

const logging = z.strictObject({
  requests: z.boolean().default(true).describe('Whether calls are written to the request log.'),
  payloads: payloads
    .default('none')
    .describe(
      'How much of arguments and results is logged: none, redacted or full. The stricter setting of server and gateway applies.',
    ),
})

const egressRule = z.strictObject({
  to: z.array(freeForm).max(256).optional().describe('Peers, as in a NetworkPolicy.'),
  ports: z.array(freeForm).max(256).optional().describe('Ports, as in a NetworkPolicy.'),
})

const serverSpec = z
  .strictObject({
    title: z.string().min(1).max(256).optional().describe('Name shown to agents and people.'),
    description: z.string().min(1).max(8_192).optional().describe('What the server is for; used by search.'),
    category: z.string().min(1).max(128).optional().describe('A group of servers, such as `devops`.'),
    keywords: z
      .array(z.string().min(1).max(128))
      .max(64)
      .default([])
      .describe('Additional words by which its tools are found.'),
    npm: npm.optional(),
    pypi: pypi.optional(),
    image: image.optional(),
    remote: remote.optional(),
    command: command.optional(),
    env: env.describe(
      'Environment of the process, as in a container: plain values, keys of Secrets and ConfigMaps.',
    ),
    envFrom: envFrom.describe('All keys of Secrets and ConfigMaps as environment.'),
    headers: headers(headerName).describe('Headers sent to an upstream over HTTP.'),
    auth: auth
      .optional()
      .describe('How to log in at an upstream over HTTP, and the credentials of each user of any server.'),
    sessions: z
      .enum(['shared', 'perClient', 'perUser'])
      .default('shared')
      .describe(
        'shared: one upstream session for all. perClient: one for each client, for servers with state such as a browser, or with questions for their clients (elicitation, sampling, roots). perUser: one for each user, so that no two users share a session or process; the gateway must know its callers (`auth`).',
      ),
    users: users
      .optional()
      .describe(
        'How many users there may be, and when their sessions, processes or pods end; for `sessions: perUser`.',
      ),
    scaling: scaling
      .prefault({})
      .describe('How many instances run, and when they sleep. Does not apply to a remote server.'),
    storage: storage
      .optional()
      .describe(
        'A volume that keeps the installed package while no pod runs, so that a wake does not install it again. For npm and pypi. Clusters only: a laptop always keeps what it installed.',
      ),
    tools: tools.prefault({}).describe('Which tools are offered, and how they are described.'),
    discovery: z
      .strictObject({
        interval: duration('10m').default('10m').describe('How often the lists are read again.'),
        perUser: z
          .boolean()
          .default(false)
          .describe(
            'Whether the lists are also read for each user, in the session of the user, who then finds and calls what these lists contain. For `sessions: perUser`. Until they are read, and for callers without a credential, those of all users apply.',
          ),
      })
      .prefault({})
      .describe('When tools, resources and prompts are listed again, and for whom.'),
    limits: limits.prefault({}).describe('Limits of time, number and size.'),
    logging: logging.prefault({}).describe('What the log contains about calls to this server.'),
    pod: freeForm
      .optional()
      .describe(
        'Parts of the pod, as in a pod\'s spec: nodeSelector, tolerations, affinity, serviceAccountName, volumes, securityContext and so on; also `metadata` (labels, annotations) and `resources` (of the server). Its container is named "server". Maps merge, lists append by name, lists of plain values and scalars replace. Clusters only.',
      ),
    egress: z
      .array(egressRule)
      .max(256)
      .default([])
      .describe(
        'What its pod may reach besides DNS; becomes a NetworkPolicy. While it installs its package, an npm or PyPI server may also reach the port of its registry, on any host. Clusters only: a laptop cannot enforce it and refuses it.',
      ),
    tls: z
      .boolean()
      .default(false)
      .describe(
        'Whether routers and the operator connect to its bridge over TLS. The certificate is in the Secret `mcp-<name>.tls` (`tls.crt`, `tls.key`, and `ca.crt` if another authority signed it), which cert-manager can make; the operator makes and renews it if nobody else does. Clusters only: on a laptop the server is a child process, and nothing crosses a network.',
      ),
    suspend: z
      .boolean()
      .default(false)
      .describe('Switches the server off: its tools are hidden and nothing runs.'),
  })
  .meta({ 'x-kubernetes-validations': toValidations(SERVER_RULES) })

const count = z.int().min(0)
/** Names of tools. Their hidden characters are written as escapes, which makes them longer. */
const toolNames = z.array(z.string().max(8_192)).max(50)

export const serverStatus = z.strictObject({
  conditions: conditions.describe(
    'Accepted, Available, Progressing (of servers that run as pods), Ready, ToolsDiscovered; with `tools.pin` ToolsApproved; TextVisible if text hides characters.',
  ),
  observedGeneration: count.optional().describe('The generation of the spec that the status refers to.'),
  endpoint: z.string().optional().describe("The server's URL within the cluster."),
  replicas: z
    .strictObject({
      wanted: count.optional().describe('Instances that should run.'),
      ready: count.optional().describe('Instances that answer, of this revision or the previous one.'),
      why: z.string().max(256).optional().describe('Why this number of instances should run.'),
    })
    .optional()
    .describe('Instances of the server; absent for a remote one.'),
  users: z
    .strictObject({
      wanted: count.optional().describe('Users who have a pod, or for whom one is started.'),
      ready: count.optional().describe('Users whose pod answers.'),
      problems: z
        .array(
          z.strictObject({
            user: z.string().max(64).describe('The user, as `portolan users` shows them.'),
            reason: z.string().max(1_024).describe('One word in CamelCase.'),
            message: z.string().max(1_024).describe('A sentence for people.'),
          }),
        )
        .max(20)
        .optional()
        .describe('Users who have no pod, and why; at most 20.'),
    })
    .optional()
    .describe('Pods of users; only of a stdio server with `sessions: perUser`.'),
  protocol: z
    .string()
    .optional()
    .describe('The MCP revision that was negotiated with the server, such as 2025-11-25.'),
  tools: z
    .strictObject({
      count: count.optional().describe('Tools offered.'),
      tokens: count.optional().describe('What their definitions would cost an agent (o200k_base).'),
      invalid: count.optional().describe('Tools left out because their definition is broken.'),
      digest: z.string().optional().describe('Digest of the list.'),
      lastChanged: z.string().optional().describe('When the list last changed.'),
      approved: z.string().optional().describe('Digest of the approved definitions, with `tools.pin`.'),
      changes: z
        .strictObject({
          digest: z
            .string()
            .describe(
              'The value of the annotation `portolan.dev/approve` that approves the tools as they are.',
            ),
          changed: toolNames.describe('Tools whose definition changed; at most 50 are named.'),
          added: toolNames.describe('Tools that are new.'),
          removed: toolNames.describe('Tools that are gone.'),
        })
        .optional()
        .describe('What changed since the tools were approved, with `tools.pin`.'),
    })
    .optional()
    .describe('The tool list as last discovered.'),
  resources: count.optional().describe('Resources listed.'),
  prompts: count.optional().describe('Prompts listed.'),
})

export const mcpServerSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('McpServer'),
  metadata: ownMetadata,
  spec: serverSpec.describe('What the server is and how it is offered.'),
  status: serverStatus.optional().describe('The observed state; written by Portolan.'),
})

/** With all defaults filled in. */
export type McpServer = z.output<typeof mcpServerSchema>
/** As a user writes it. */
export type McpServerInput = z.input<typeof mcpServerSchema>
export type McpServerSpec = McpServer['spec']
export type McpServerSpecInput = McpServerInput['spec']
export type McpServerStatus = z.output<typeof serverStatus>
