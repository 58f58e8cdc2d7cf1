/** How long the URI of a resource may be. */

/** Of a resource, as its server knows it. */
export const MAX_URI_CHARACTERS = 8_192
/** Of a resource, as a client names it: with the name of its server in front. */
const MAX_ASKED_URI_CHARACTERS = MAX_URI_CHARACTERS + 256

/** Why a client's URI is refused; undefined if it is short enough. Subscriptions keep their URIs in memory. */
export function tooLongUri(uri: string): string | undefined {
  return uri.length > MAX_ASKED_URI_CHARACTERS
    ? `Invalid params: a URI has more than ${MAX_ASKED_URI_CHARACTERS} characters`
    : undefined
}
