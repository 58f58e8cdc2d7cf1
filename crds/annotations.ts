/** Annotations of an McpServer. Without a schema, so that the bridge can use their names without the schema library. */

/** An annotation of an McpServer: whenever its value changes, the server's lists are read again. */
export const REFRESH_ANNOTATION = 'portolan.dev/refresh'
/** An annotation of an McpServer: its value, a digest from the status, approves changed tools or, in a cluster, a changed package. */
export const APPROVE_ANNOTATION = 'portolan.dev/approve'

/** An annotation of a Secret: the user whose credentials it holds, as `<issuer>#<subject>`. */
export const SUBJECT_ANNOTATION = 'portolan.dev/subject'

type Annotated = { metadata: { annotations?: Record<string, string> } } | undefined

/** The value of the refresh annotation; empty if there is none. */
export function refreshOf(object: Annotated): string {
  return object?.metadata.annotations?.[REFRESH_ANNOTATION] ?? ''
}

/** The value of the approve annotation; empty if there is none. */
export function approveOf(object: Annotated): string {
  return object?.metadata.annotations?.[APPROVE_ANNOTATION]?.trim() ?? ''
}
