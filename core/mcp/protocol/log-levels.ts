/** The levels of log messages, and which a client wants. */
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

/** Whether a client with the minimum level `least` wants the notification. All but log messages are always wanted. */
export function isWanted({ method, params }: Notification, least: string): boolean {
  if (method !== 'notifications/message') return true
  const level = LOG_LEVELS.indexOf(params?.level as string)
  return level < 0 || level >= LOG_LEVELS.indexOf(least)
}
