/** Constants that the operator's console and the admin ports of routers share. */

/** Carries `Bearer <token>` of the operator's ServiceAccount. */
export const OPERATOR_HEADER = 'portolan-operator'
/** Audience of that token; tokens for other audiences are refused. */
export const CONSOLE_AUDIENCE = 'portolan-console'
/** On loopback of the operator's pod. */
export const CONSOLE_PORT = 9443
