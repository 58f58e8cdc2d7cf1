/** Types of the parts of oidc-provider that the OAuth fixture uses; the package has none. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  class Provider {
    constructor(issuer: string, configuration: object)
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
  }
  // biome-ignore lint/style/noDefaultExport: the package has a default export
  export default Provider
}
