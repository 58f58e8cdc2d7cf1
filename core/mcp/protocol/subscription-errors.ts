/** Errors of requests to subscribe to a resource. The method exists; the named resource cannot be subscribed to: invalid parameters. */
import { INVALID_PARAMS } from './error-codes.ts'

export const NOT_SUBSCRIBED = {
  code: INVALID_PARAMS,
  message: 'The server does not accept subscriptions to this resource',
}
export const NO_SUBSCRIPTIONS = {
  code: INVALID_PARAMS,
  message: 'The server does not support subscriptions to its resources',
}
export const NO_SESSION = {
  code: INVALID_PARAMS,
  message: 'This server runs once for each client session, and this caller has no session to receive updates',
}
