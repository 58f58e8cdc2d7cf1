/** Sentences for agents when something cannot be done: what happened and what to do next. Pure. */
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import type { Fault } from '../../../core/errors.ts'
import type { JsonRpcError } from '../../../core/mcp/protocol/json-rpc.ts'
import { type ProfileWords, sentenceOf, spelled } from './profile-words.ts'
import { shorten } from './shorten.ts'
import { userSentence } from './user-sentences.ts'

const MAX_ECHO_CHARACTERS = 120
const MAX_UPSTREAM_MESSAGE_CHARACTERS = 1_000

/** Puts a name in quotation marks, shortened: a request can contain a name of any length. */
export function quote(name: string): string {
  return `"${shorten(name, MAX_ECHO_CHARACTERS)}"`
}

/** Why a server cannot be used in its state. Never the state's own message, which may contain addresses. */
export function stateSentence(server: RouterServer): string {
  const { state, reason } = server.status
  const because = reasonText(reason)
  switch (state) {
    case 'failed':
      return `Server ${quote(server.name)} is down${because}. ${retrySentence(server)}, or use another server.`
    case 'authRequired':
      if (reason === 'NeedsLogin')
        return `Server ${quote(server.name)} is used with the account of each user, and nobody has logged in. Show the user this page of the gateway, to be opened in a browser on its machine: /connect/${encodeURIComponent(server.name)}`
      return `Server ${quote(server.name)} needs credentials${because}. Whoever runs this gateway has to provide them; trying again does not help.`
    case 'suspended':
      return `Server ${quote(server.name)} is switched off (suspended in its manifest). Use another server.`
    case 'notAccepted':
      return `Server ${quote(server.name)} is not in use: its manifest, or this gateway's, was not accepted${because}. Use another server.`
    case 'starting':
      return `Server ${quote(server.name)} is starting${because} and its tools are not known yet. Try again in a few seconds.`
    case 'asleep':
    case 'ready':
      return `Server ${quote(server.name)} is ${state}${because}, but its tools are not known yet. Try again in a few seconds.`
  }
}

/** How soon a server that is down is tried again. Only on a laptop calls cause it (server-discovery.ts), but not the start of a process before its delay. */
function retrySentence({ endpoint, transport }: RouterServer): string {
  return endpoint.kind === 'local' && transport !== 'stdio'
    ? 'A call has it tried again: repeat it in a few seconds'
    : 'It is tried again within a minute: repeat the call then'
}

/** Why a tool is held back. Says who can approve it, since an agent cannot. */
export function heldSentence(
  server: RouterServer,
  { path, change }: { path: string; change: 'changed' | 'added' },
): string {
  const what =
    change === 'changed'
      ? 'changed since it was approved'
      : `is new: it was added, and so server ${quote(server.name)} changed since it was approved`
  return `Tool ${quote(path)} ${what}, so it is held back. Whoever runs this gateway can look at the change and approve it: portolan approve ${server.name} --diff. Until then use another tool; trying again does not help.`
}

/** Note for a result of a server with state for each client, if this client has no session. */
export function stateLostSentence(server: RouterServer): string {
  return `Note: server ${quote(server.name)} keeps its state for each session, and this client has none. It was started for this call alone: what the call opened or set is gone.`
}

/** Note if a server denies a tool that it lists, for a client that cannot be asked everything the server may want to ask. */
export function hiddenToolSentence(server: RouterServer, notAskable: readonly string[]): string {
  const missing = notAskable.join(', ')
  return `Note: server ${quote(server.name)} does list this tool. Some servers offer a tool only to clients that they can ask for what it needs, and this client did not declare that it can be asked for ${missing}.`
}

/** What happened to a call that its server did not answer. Never the fault's own text, which may contain addresses. */
export function faultSentence(fault: Fault, server: RouterServer, words: ProfileWords): string {
  const name = quote(server.name)
  switch (fault.code) {
    case 'upstream_timeout':
      if (reasonOf(fault))
        return `Server ${name} did not start in time${reasonOf(fault)}. Try again in a minute, or use another server.`
      return `Server ${name} gave no answer within ${secondsOf(server.limits.callTimeoutMs)}. The call may still have taken effect: check before you repeat it, or ask for less.`
    case 'upstream_died':
      return server.transport === 'stdio'
        ? `Server ${name} ended during the call${exitOf(fault)}. It is started again: check whether the call took effect, then try once more.`
        : `The connection to server ${name} ended during the call. Check whether the call took effect, then try once more.`
    case 'upstream_unreachable':
      return `Server ${name} cannot be reached${reasonOf(fault)}. The arguments are not the cause; try again in a moment, or use another server.`
    case 'upstream_starting':
      return `Server ${name} failed${reasonOf(fault)} and is being started again${retryOf(fault)}.`
    case 'upstream_asleep':
      return asleepSentence(fault, name)
    case 'upstream_open':
      return `Server ${name} failed several times in a row, so calls are refused for now${retryOf(fault)}.`
    case 'upstream_busy':
      if (fault.details.scripts) return 'Too many scripts run at the moment: try again in a moment.'
      if (fault.details.subscriptions)
        return 'There are too many subscriptions to resources. Unsubscribe from some first, or try again later.'
      if (fault.details.waiting !== undefined)
        return `Server ${name} is asleep, and ${fault.details.waiting} calls wait for servers to start, the maximum. Try again in a minute.`
      if (fault.details.sessions !== undefined)
        return `Server ${name} has a session for each client, and all ${fault.details.sessions} that it can have at once are in use. Try again in a minute, or use another server.`
      return `Server ${name} is busy with ${server.limits.concurrency} calls and more are waiting. Try again in a few seconds.`
    case 'upstream_too_large':
      if (fault.details.crowded)
        return `The answer of server ${name} was dropped because this gateway receives too many large answers at once, though the call may have taken effect. Ask for less, or try again in a few seconds.`
      return `The answer of server ${name} is too large to pass on${limitOf(fault)}, though the call may have taken effect. Ask for less: a filter, a page or a smaller range.`
    case 'upstream_auth_required':
      return `Server ${name} refused the gateway's credentials. Whoever runs this gateway has to renew them; trying again does not help.`
    case 'upstream_protocol':
      return `The answer of server ${name} is not valid MCP. Trying again is unlikely to help; use another tool.`
    case 'not_found':
      return `Server ${name} is no longer here. ${sentenceOf(words.finding)}`
    case 'cancelled':
      return 'The call was cancelled.'
    case 'bad_request':
      if (reasonOf(fault)) return `Server ${name} did not take the call${reasonOf(fault)}.`
      return `Server ${name} could not be called. Try again in a moment, or use another server.`
    case 'user_refused':
      return userSentence(fault, name)
    case 'upstream_rejected':
    case 'conflict':
    case 'unavailable':
    case 'timeout':
    case 'invalid_data':
    case 'io':
      return `Server ${name} could not be called. Try again in a moment, or use another server.`
  }
}

/** The limit that an answer exceeds, in brackets. */
function limitOf({ details: { maxBytes, maxValues } }: Fault): string {
  if (maxValues !== undefined) return ` (it has more than ${maxValues} JSON values)`
  return maxBytes === undefined ? '' : ` (it has more than ${Number(maxBytes) / 2 ** 20} MiB)`
}

/** For a server that was not woken in time. `heard`: whether an operator has noticed the call. */
function asleepSentence(fault: Fault, name: string): string {
  const { seconds, problem, heard, ofUser } = fault.details
  if (ofUser) return instanceSentence(fault, name)
  if (!heard && problem === undefined)
    return `Server ${name} is asleep, and nobody can wake it now. The call was not sent. Try again in a minute, or use another server.`
  const because = problem === undefined ? '' : `: ${problem}`
  return `Server ${name} is asleep, and could not be woken in ${seconds} s${because}. The call was not sent. Try again in a minute, or use another server.`
}

/** For a user's pod that did not start in time. Without `problem`, perhaps no operator tried: none is the leader, or it cannot reach the API server. */
function instanceSentence({ details: { seconds, problem } }: Fault, name: string): string {
  const because = problem === undefined ? ', or nobody can start it now' : `: ${problem}`
  return `Server ${name} has a pod for each user, and that of this user did not start in ${seconds} s${because}. The call was not sent. Try again in a minute, or use another server.`
}

/** Refusal of a call whose arguments do not fit: `help` has one line for each problem. */
export function argumentsRefusal(path: string, words: ProfileWords, help: string): string {
  return `${argumentsLine(path)}, so it was not called:\n${help}\nThe whole schema: ${spelled(words.schema(path))}.`
}

/** The first line of that refusal, without its end. */
export function argumentsLine(path: string): string {
  return `The arguments do not fit the schema of ${path}`
}

/** An upstream's JSON-RPC error about the request, in the upstream's own words. */
export function refusalSentence(
  server: RouterServer,
  asked: string,
  { code, message }: JsonRpcError,
): string {
  return `Server ${quote(server.name)} refused ${quote(asked)} (${code}): ${shorten(message, MAX_UPSTREAM_MESSAGE_CHARACTERS)}`
}

function reasonOf(fault: Fault): string {
  return reasonText(fault.details.reason)
}

/** A CamelCase reason in parentheses, with an explanation if it needs one: ` (NotMcp: what it writes is not MCP)`. */
function reasonText(reason: unknown): string {
  if (typeof reason !== 'string' || !/^[A-Za-z]{1,40}$/.test(reason)) return ''
  const meaning = Object.hasOwn(MEANINGS, reason) ? `: ${MEANINGS[reason]}` : ''
  return ` (${reason}${meaning})`
}

const MEANINGS: Readonly<Record<string, string>> = {
  BinNotFound: 'its package has no such command',
  CommandNotFound: 'its command is not installed',
  CrashLooping: 'it ends again and again',
  ExitedAtStart: 'it ended before it was ready',
  HandshakeFailed: 'it refused to begin a session',
  InstallFailed: 'its package could not be installed',
  IntegrityChanged: 'its package changed under the same version',
  Invalid: 'a manifest, or a header from a Secret, is not valid, whoever runs this gateway has to correct it',
  NotMcp: 'what it writes is not MCP',
  NotPermitted: 'its address is not allowed in this cluster',
  PackageManagerMissing: 'what installs its package is missing',
  ProtocolError: 'what it answers is not MCP',
  RequestTooLarge: 'the arguments are longer than it allows, send less',
  SecretNotFound: 'a Secret that it needs is missing',
  StartTimeout: 'it was not ready in time',
}

function retryOf(fault: Fault): string {
  const { retryInMs } = fault.details
  return typeof retryInMs === 'number'
    ? `: try again in ${secondsOf(Math.max(1_000, retryInMs))}`
    : ': try again later'
}

function exitOf(fault: Fault): string {
  const { exitCode, signal } = fault.details
  if (typeof exitCode === 'number') return ` (exit code ${exitCode})`
  return typeof signal === 'string' ? ` (${signal})` : ''
}

function secondsOf(ms: number): string {
  return `${Math.ceil(ms / 100) / 10} s`
}
