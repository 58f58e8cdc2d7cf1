/** The JSON that a gateway sends to its console: answers and events. Times are milliseconds since the epoch, tokens are o200k_base. */
import type { HiddenText } from '../catalog/hidden-text.ts'
import type { Profile, RouterServer, ServerState } from '../catalog/router-config.ts'
import type { ServerCatalog } from '../catalog/server-catalog.ts'
import type { ToolChanges } from '../catalog/tool-changes.ts'
import type { ToolDiff } from '../catalog/tool-diff.ts'
import type { JsonObject } from '../json.ts'

/** The state of the whole gateway, as one caller sees it. */
export type ConsoleState = {
  gateway: { name: string; namespace: string }
  version: string
  /** Where servers run: on a laptop the console has actions, in a cluster kubectl is used. */
  placement: 'local' | 'cluster'
  profile: Profile
  /** The profiles that are served, its own first. */
  served: string[]
  ready: boolean
  totals: { servers: number; tools: number; resources: number; templates: number }
  tokens: {
    /** Of all tools, if an agent used the servers directly. */
    direct: number
    /** Of tools/list in each profile, served or not. */
    profiles: Partial<Record<Profile, number>>
    sinceStart: { direct: number; served: number; saved: number }
  }
  search: { semantic: string; reason?: string; pending: number }
  /** Mistakes in the manifests. */
  problems: { reason: string; message: string; file?: string; line?: number }[]
  /**
   * Changes whenever anything changes that this caller can list, open or search; equal at all routers that serve the same. Absent: the router
   * is older and does not say it.
   */
  catalogDigest?: string
  /** Whether the gateway distinguishes callers. */
  auth: boolean
  /** What the caller may do to servers; empty where a caller sees only a part. */
  actions: ConsoleAction['action'][]
  /** Whether calls of other callers and figures of the whole gateway are shown. */
  whole: boolean
}

export type ConsoleServer = {
  name: string
  title?: string
  description?: string
  category?: string
  transport: RouterServer['transport']
  sessions: RouterServer['sessions']
  state: ServerState
  /** CamelCase. */
  reason?: string
  message?: string
  hidden: boolean
  /** When its state began. */
  since?: number
  tools: number
  tokens: number
  resources: number
  templates: number
  prompts: number
  protocol?: string
  /** The first invalid tools, and how many more there are. */
  invalid: { name?: string; reason: string }[]
  moreInvalid?: number
  incomplete: ServerCatalog['incomplete']
  changes?: ToolChanges & { pin?: 'Warn' | 'Hold' }
  hiddenText?: HiddenText
  list: { at?: number; cached: boolean; failure?: { reason: string; message: string } }
  limits: RouterServer['limits']
  load: {
    active: number
    waiting: number
    lastCallAt?: number
    breaker: { state: 'closed' | 'open' | 'halfOpen'; failures: number }
  }
  /** Calls of the last five minutes. */
  recent: { calls: number; errors: number; p95Ms?: number }
  /** The states of the last hour and since when, oldest first. */
  history: { state: ServerState; at: number }[]
}

export type ConsoleCall = {
  /** In a cluster: the pod of the router that handled it. */
  router?: string
  /** Grows by one with every call of this run of the gateway. */
  seq: number
  at: number
  server?: string
  tool?: string
  method: string
  /** The meta-tool, if one was called. */
  meta?: string
  outcome: string
  client?: string
  session?: string
  caller?: string
  totalMs: number
  upstreamMs: number
  /** Of the server's answer, estimated. */
  tokens?: number
  /** How many hits a search had. */
  hits?: number
  /** The id of the script that made it. */
  script?: string
  /** If the call is a script itself: its id, its calls, and the tokens of results that it kept from the agent. */
  ran?: { id: string; calls: number; keptTokens: number }
  /** Why it failed, in our own words: never text of the server's answer. */
  why?: string
}

/** Arguments and result of a call, as far as `logging.payloads` and `audit.payloads` allow. */
export type ConsolePayload = { arguments?: unknown; result?: unknown; withheld?: string }

/** What happened in a span of time that ends at `at`. */
export type ConsolePoint = {
  at: number
  spanMs: number
  calls: Record<string, number>
  /** Milliseconds; absent without calls. */
  routerMs?: Quantiles
  serverMs?: Quantiles
  direct: number
  served: number
  /** Tokens of results that scripts got, minus the tokens that they returned. */
  kept?: number
  searches: number
  searchMs?: Quantiles
  /** At its end: calls that servers work on, calls that wait for a slot, and breakers that are open. */
  active: number
  waiting: number
  open: number
}

export type Quantiles = { p50: number; p95: number }

/** The events of `console/events`, by their names. */
export type ConsoleEvents = {
  state: ConsoleState
  /** The first event has all servers; servers that it lacks no longer exist. */
  servers: { whole: boolean; changed: ConsoleServer[]; gone: string[] }
  calls: { run: string; calls: ConsoleCall[]; notShown: number }
  points: { points: ConsolePoint[]; long: ConsolePoint[] }
}

/** A condition of an object in a cluster, as the operator last wrote it. */
export type ConsoleCondition = {
  type: string
  status: string
  reason: string
  message: string
  since?: number
}

/** A gateway of a cluster, as the operator sees it. */
export type ConsoleGateway = {
  namespace: string
  name: string
  /** Why it cannot be used, or what it is missing, is in `conditions`. */
  ready: boolean
  servers: { selected: number; ready: number }
  tools: number
  tokens: { direct?: number; exposed?: number }
  /** The newest generation of the catalog, and the one that each router serves. */
  generation?: number
  routers: { pod: string; generation?: number }[]
  search?: { semantic: 'embedded' | 'endpoint' | 'off'; reason?: string }
  /** Whether it distinguishes callers by credentials. */
  auth: boolean
  url?: string
  conditions: ConsoleCondition[]
}

/** A server of a cluster, whether or not a gateway offers it. */
export type ConsoleClusterServer = {
  namespace: string
  name: string
  ready: boolean
  replicas?: { wanted?: number; ready?: number }
  tools?: number
  tokens?: number
  conditions: ConsoleCondition[]
}

/** The events of the operator's console, besides those of one gateway's routers. */
export type ConsoleClusterEvents = {
  cluster: { version: string; gateways: ConsoleGateway[]; servers: ConsoleClusterServer[] }
  /** The routers whose events follow: what is known of others is out of date. */
  routers: { pods: string[] }
  /** The gateway requires a credential, or refuses the given one; `error`: what it says. */
  refused: { error: string }
  /** No router of the gateway answers, and why. */
  unreachable: { error: string }
}

export type ConsoleTool = {
  path: string
  server: string
  name: string
  title?: string
  /** The first sentence or so. */
  summary: string
  category?: string
  tokens: number
  /** `reads`, `destructive`, `repeatable`, `outside`: what the server's annotations say, as words. */
  notes: string[]
  /** Hidden from agents until a change is approved. */
  held?: boolean
}

export type ConsoleToolDetail = ConsoleTool & {
  definition: JsonObject
  /** The definition as one search shows it that finds only this tool, and its tokens. Absent: the tool is held. */
  seen?: { definition: JsonObject; tokens: number }
  declaration: { profile: Profile; name: string; listedName: string }
  /** With code mode: as scripts call it, as TypeScript. */
  inScripts?: string
}

export type ConsoleResource = {
  server: string
  /** As meta-tools name it: `server|uri`. */
  uri: string
  /** As resources/read takes it. */
  listedUri: string
  /** As the server itself names it. */
  own: string
  isTemplate: boolean
  name: string
  description?: string
  mimeType?: string
  size?: number
  /** Whether clients can subscribe to it. */
  watchable: boolean
}

/** What waits for approval at a server. */
export type ConsoleChanges = { digest?: string; changes: ToolDiff[] }

export type ConsoleAction =
  | { action: 'wake' | 'restart' | 'read'; server: string }
  | { action: 'approve'; server: string; digest: string }
