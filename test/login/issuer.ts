/**
 * A real authorization server: oidc-provider with dynamic registration, PKCE and resource indicators; whoever logs in is of the group dev.
 * Arguments: the folder of the installed package, the resource that tokens are for. Prints `{"issuer": …}` once it listens.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'

type Handler = Parameters<typeof createServer>[1]
type ProviderClass = new (issuer: string, options: object) => { callback(): Handler }

const [, , file = '', resource = ''] = process.argv
const { default: Provider } = (await import(pathToFileURL(file).href)) as { default: ProviderClass }
const server = createServer()
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const provider = new Provider(issuer, {
  clients: [],
  pkce: { required: () => true },
  scopes: ['openid', 'mcp'],
  features: {
    registration: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'mcp',
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
      }),
    },
  },
  extraTokenClaims: () => ({ groups: ['dev'] }),
})
server.on('request', provider.callback() as () => void)
process.stdout.write(`${JSON.stringify({ issuer })}\n`)
process.stdin.resume()
process.stdin.on('end', () => process.exit())
