/** How severe a log message must be for a client to want it. */
import type { Notification } from '../upstream.ts'

/** Least severe first. */
export const LOG_LEVELS: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]
const MAX_CLIENTS = 10_000

/** What clients of the 2025 era set for their sessions; beyond 10,000 the oldest is forgotten, and gets every message again. */
export class LogLevels {
  readonly #levels = new Map<string, string>()

  set(client: string, level: string): void {
    this.#levels.delete(client)
    if (this.#levels.size >= MAX_CLIENTS) this.forget(this.#levels.keys().next().value as string)
    this.#levels.set(client, level)
  }

  get(client: string): string | undefined {
    return this.#levels.get(client)
  }

  forget(client: string): void {
    this.#levels.delete(client)
  }
}

/** Whether whoever wants messages of this level and above takes the notification: only log messages have a level. */
export function isWanted({ method, params }: Notification, least: string): boolean {
  if (method !== 'notifications/message') return true
  const level = LOG_LEVELS.indexOf(params?.level as string)
  return level < 0 || level >= LOG_LEVELS.indexOf(least)
}
