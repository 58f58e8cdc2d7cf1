/**
 * A real authorization server: oidc-provider with dynamic registration, PKCE and resource indicators; everyone who logs in is in the group dev.
 * Argument: the entry file of the installed package. Prints `{"issuer": …}` once it listens.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { oidcOptions } from '../support/oidc-options.ts'

type Handler = Parameters<typeof createServer>[1]
type ProviderClass = new (issuer: string, options: object) => { callback(): Handler }

const [, , file = ''] = process.argv
const { default: Provider } = (await import(pathToFileURL(file).href)) as { default: ProviderClass }
const server = createServer()
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const provider = new Provider(issuer, {
  ...oidcOptions({ scopes: ['mcp', 'write'], resourceScope: 'mcp write', tokenSeconds: 600 }),
  // Pages of other origins register and get tokens, as the inspector's do.
  clientBasedCORS: () => true,
  // Clients may later ask for more than they registered for; by default, oidc-provider refuses that.
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
