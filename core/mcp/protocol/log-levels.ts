/** How severe a log message must be for a client to want it. */
import type { Notification } from './json-rpc.ts'

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

/** Whether whoever wants messages of this level and above takes the notification: only log messages have a level. */
export function isWanted({ method, params }: Notification, least: string): boolean {
  if (method !== 'notifications/message') return true
  const level = LOG_LEVELS.indexOf(params?.level as string)
  return level < 0 || level >= LOG_LEVELS.indexOf(least)
}
