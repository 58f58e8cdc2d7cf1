/** Logins of users as they are kept in the Secrets of a cluster: encrypted (sealed), each under an id; of several, the newest counts. Pure. */

/** `value`: the milliseconds since the epoch at which it was made, a dot, and the sealed login, which is empty if the login was deleted. */
export type LoginRecord = { server: string; id: string; value: string }

/** The form of an id: HMAC-SHA-256, in hex. */
export const LOGIN_ID = /^[0-9a-f]{64}$/
export const LOGIN_VALUE = /^\d{1,15}\.[\w-]*$/
export const MAX_LOGIN_CHARACTERS = 24_000
/** How many logins a router reports to the operator at once. */
export const MAX_LOGINS_AT_ONCE = 256

/** Each id begins with one of them. */
const DIGITS = [...'0123456789abcdef']

/** The name of the Secret with a login. Each server has at most 16, one for each digit with which ids begin. */
export function loginsName(server: string, id: string): string {
  return `${server}-logins-${Number.parseInt(id.slice(0, 1), 16)}`
}

/** The names of all Secrets with logins at a server. */
export function allLoginsNames(server: string): string[] {
  return DIGITS.map(digit => loginsName(server, digit))
}

/** When a value was made, in milliseconds since the epoch; 0 without a value. */
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
