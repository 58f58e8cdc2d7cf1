/** Logins of users as they are kept in the Secrets of a cluster: sealed, each under an id, the newest counts. Pure. */

/** `value`: when it was made, in milliseconds since the epoch, a dot, and the sealed login; nothing, if it was deleted. */
export type LoginRecord = { server: string; id: string; value: string }

/** The form of an id: HMAC-SHA-256, in hex. */
export const LOGIN_ID = /^[0-9a-f]{64}$/
export const LOGIN_VALUE = /^\d{1,15}\.[\w-]*$/
export const MAX_LOGIN_CHARACTERS = 24_000
/** How many logins a router reports to the operator at once. */
export const MAX_LOGINS_AT_ONCE = 256

/** How ids begin. */
const DIGITS = [...'0123456789abcdef']

/** The Secret of a login: there are at most 16 of a server, each with those whose ids begin with the same digit. */
export function loginsName(server: string, id: string): string {
  return `${server}-logins-${Number.parseInt(id.slice(0, 1), 16)}`
}

/** All Secrets of the logins at a server. */
export function allLoginsNames(server: string): string[] {
  return DIGITS.map(digit => loginsName(server, digit))
}

/** When a value was made; 0 without one. */
export function timeOfLogin(value: string | undefined): number {
  return Number.parseInt(value ?? '', 10) || 0
}

/** The newer of two values; the first, if neither is. */
export function newerLogin(first: string | undefined, second: string | undefined): string | undefined {
  return first === undefined || timeOfLogin(second) > timeOfLogin(first) ? (second ?? first) : first
}

/** Whether a value says that the login was deleted. */
export function isDeletedLogin(value: string): boolean {
  return value.endsWith('.')
}
