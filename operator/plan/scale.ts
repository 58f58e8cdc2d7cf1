/** Decides how many instances of a server should run, and why: by its manifest, its use, and the calls that wait for it. Pure. */

/** The use of a server, added up over the reports of all routers. */
export type ServerLoad = {
  /** False while the report of a router is missing: then nothing is stopped. */
  isKnown: boolean
  /** Whether a call waits for the server itself to be woken. */
  isWanted: boolean
  /** Calls in flight or waiting, without those whose callers are answering a question. */
  calls: number
  /** Sessions of single clients or users, which lose their state when their pod ends. */
  sessions: number
  /** When it was last used, in milliseconds since the epoch; undefined: it is in use. */
  usedAtMs?: number
}

/** `external`: another controller, such as an autoscaler, sets the number of instances. */
export type Scaling = {
  min: number
  max: number
  idleAfterMs: number
  callsPerPod: number
  external: boolean
}

/** State that is kept between two decisions about a server. It is lost when another operator becomes leader; then instances are only stopped later. */
export type ScaleMemory = {
  /** Since when it has run; this and the other times are in milliseconds since the epoch. */
  awakeSinceMs?: number
  /** Since when fewer instances would have been enough. */
  quietSinceMs?: number
  /** When an instance was last stopped because fewer were enough. */
  loweredAtMs?: number
}

export type ScaleInput = {
  scaling: Scaling
  /** The number of instances wanted so far; undefined: the server never ran. */
  current: number | undefined
  /** Whether its manifest has changed since that number was decided. */
  isChanged: boolean
  /** Whether it is ready. A server that could not start yet does not go to sleep, so that its failure stays visible. */
  isReady: boolean
  load: ServerLoad
  memory: ScaleMemory
  /** Milliseconds since the epoch. */
  now: number
}

export type Scale = {
  wanted: number
  /** One sentence, without numbers that change with every call. */
  why: string
  memory: ScaleMemory
  /** Decide again after this time even if nothing happens. */
  afterMs?: number
}

/** Additional instances start at once. If fewer would have been enough for five minutes, one is stopped each minute. */
export const QUIET_MS = 5 * 60_000
export const STEP_MS = 60_000

/** How many instances of a server should run now. */
export function scaleOf(input: ScaleInput): Scale {
  const { scaling, current, memory, now } = input
  const awake = { ...memory, awakeSinceMs: memory.awakeSinceMs ?? now }
  if (scaling.external) return { wanted: whileExternal(input), why: WHY.external, memory: {} }
  if (current === undefined)
    return { wanted: atLeast(scaling), why: scaling.min > 0 ? WHY.least : WHY.began, memory: awake }
  if (current === 0) return whileAsleep(input)
  return sleepOf(input, awake) ?? resize(input, current, awake)
}

const WHY = {
  external: 'scaling.external: another controller decides',
  began: 'its tools have to be read',
  changed: 'its manifest has changed',
  woken: 'a call waits for it',
  least: 'scaling.min',
  used: 'it was used within scaling.idleAfter',
  idle: 'nothing has used it for scaling.idleAfter',
  calls: 'calls in flight and scaling.callsPerPod',
  most: 'scaling.max',
  pinned: 'sessions of its clients are open',
  unknown: 'not every router has reported its use',
}

/** Autoscalers leave a Deployment without replicas as it is. Hence a changed manifest, such as the end of `suspend`, starts the minimum of instances. */
function whileExternal({ scaling, current, isChanged }: ScaleInput): number {
  return current === 0 && isChanged ? scaling.min : (current ?? atLeast(scaling))
}

function whileAsleep({ scaling, isChanged, load, now }: ScaleInput): Scale {
  const woken = { awakeSinceMs: now }
  if (scaling.min > 0) return { wanted: scaling.min, why: WHY.least, memory: woken }
  if (load.isWanted) return { wanted: byCalls(scaling, load), why: WHY.woken, memory: woken }
  if (isChanged) return { wanted: 1, why: WHY.changed, memory: woken }
  return { wanted: 0, why: WHY.idle, memory: {} }
}

/** Undefined if the server does not go to sleep now. */
function sleepOf(input: ScaleInput, memory: ScaleMemory): Scale | undefined {
  const { scaling } = input
  if (scaling.min > 0 || untilSleepMs(input, memory) !== 0) return undefined
  return { wanted: 0, why: WHY.idle, memory: {} }
}

/** Milliseconds until the server may go to sleep; undefined while something keeps it awake. */
function untilSleepMs(
  { scaling, isReady, load, now }: ScaleInput,
  { awakeSinceMs = now }: ScaleMemory,
): number | undefined {
  const { isKnown, isWanted, usedAtMs } = load
  if (!isReady || !isKnown || isWanted || usedAtMs === undefined) return undefined
  return Math.max(0, Math.max(usedAtMs, awakeSinceMs) + scaling.idleAfterMs - now)
}

/** The number for a server that stays awake: more instances at once, fewer only step by step. */
function resize(input: ScaleInput, current: number, memory: ScaleMemory): Scale {
  const { scaling, load, now } = input
  const { quietSinceMs = now, loweredAtMs = 0, ...busy } = memory
  const afterMs = scaling.min === 0 ? untilSleepMs(input, memory) : undefined
  const [least, most] = [atLeast(scaling), Math.max(scaling.max, atLeast(scaling))]
  const fitting = byCalls(scaling, load)
  const why = fitting === least ? WHY.least : fitting === most ? WHY.most : WHY.calls
  const kept = (wanted: number, reason: string): Scale => ({ wanted, why: reason, memory: busy, afterMs })
  if (current > most) return kept(most, WHY.most)
  if (fitting >= current) return kept(fitting, fitting > least ? why : awakeWhy(input))
  const quiet = { ...busy, quietSinceMs, ...(loweredAtMs > 0 && { loweredAtMs }) }
  const stays = (reason: string, dueMs?: number): Scale => {
    const nextMs = dueMs === undefined ? afterMs : Math.min(afterMs ?? dueMs, dueMs)
    return { wanted: current, why: reason, memory: quiet, ...(nextMs !== undefined && { afterMs: nextMs }) }
  }
  if (!load.isKnown) return stays(WHY.unknown)
  if (load.sessions > 0) return stays(WHY.pinned)
  const waitMs = Math.max(quietSinceMs + QUIET_MS, loweredAtMs + STEP_MS) - now
  if (waitMs > 0) return stays(WHY.calls, waitMs)
  const lowered = { ...quiet, loweredAtMs: now }
  return { wanted: current - 1, why: WHY.calls, memory: lowered, afterMs: STEP_MS }
}

/** Why a server runs with its minimum of instances. */
function awakeWhy({ scaling, load }: ScaleInput): string {
  if (scaling.min > 0) return WHY.least
  return load.isKnown ? WHY.used : WHY.unknown
}

/** ceil(calls / callsPerPod), within min and max and at least one. */
function byCalls(scaling: Scaling, { calls }: ServerLoad): number {
  const least = atLeast(scaling)
  return Math.min(Math.max(Math.ceil(calls / scaling.callsPerPod), least), Math.max(scaling.max, least))
}

function atLeast({ min }: Scaling): number {
  return Math.max(1, min)
}
