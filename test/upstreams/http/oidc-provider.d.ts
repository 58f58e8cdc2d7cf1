/** Types of the parts of oidc-provider that the fixtures use; the package has none. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  type GrantContext = {
    oidc: { params: Record<string, string | undefined>; client: object }
    status: number
    body: object
  }

  class Provider {
    constructor(issuer: string, configuration: object)
    on(event: 'grant.success', listener: (context: GrantContext) => void): void
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    registerGrantType(
      name: string,
      handler: (context: GrantContext) => Promise<void>,
      parameters: string[],
    ): void
    AccessToken: new (
      properties: object,
    ) => { resourceServer: object; save(): Promise<string> }
    ResourceServer: new (
      identifier: string,
      data: object,
    ) => object
  }
  // biome-ignore lint/style/noDefaultExport: the package has a default export
  export default Provider
}
