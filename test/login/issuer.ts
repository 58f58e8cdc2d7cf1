/**
 * A real authorization server: oidc-provider with dynamic registration, PKCE and resource indicators; whoever logs in is of the group dev.
 * Argument: the entry file of the installed package. Prints `{"issuer": …}` once it listens.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'

type Handler = Parameters<typeof createServer>[1]
type ProviderClass = new (issuer: string, options: object) => { callback(): Handler }

const [, , file = ''] = process.argv
const { default: Provider } = (await import(pathToFileURL(file).href)) as { default: ProviderClass }
const server = createServer()
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const provider = new Provider(issuer, {
  clients: [],
  pkce: { required: () => true },
  scopes: ['openid', 'offline_access', 'mcp', 'write'],
  features: {
    registration: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // There is no default resource: a client that names none gets a token that no gateway accepts.
      useGrantedResource: () => true,
      getResourceServerInfo: (_context: object, resource: string) => ({
        scope: 'mcp write',
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
      }),
    },
  },
  // Pages of other origins register and get tokens, as the inspector's do.
  clientBasedCORS: () => true,
  // Clients may later ask for more than they registered for; left to itself, oidc-provider refuses that.
  extraClientMetadata: {
    properties: ['registered_scope'],
    validator(_context: object, _name: string, _value: unknown, metadata: { scope?: string }) {
      metadata.scope = undefined
    },
  },
  extraTokenClaims: () => ({ groups: ['dev'] }),
})
server.on('request', provider.callback() as () => void)
process.stdout.write(`${JSON.stringify({ issuer })}\n`)
process.stdin.resume()
process.stdin.on('end', () => process.exit())
