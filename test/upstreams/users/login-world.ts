/**
 * A world in which people log in twice, as a process: `node login-world.ts HOST DOMAIN AUDIENCE LISTS` serves, at ports of HOST, the issuer of a gateway's
 * callers (`issuer.DOMAIN`), and an upstream (`notes.DOMAIN`) with its own authorization server (`login.DOMAIN`), which also admits the header
 * `Authorization: LISTS`. Prints a line of JSON once it listens, with tokens of ada and ben for AUDIENCE, and one for each grant of the upstream's authorization
 * server. A line of stdin: the upstream refuses all other credentials that it has seen so far.
 */
import { createInterface } from 'node:readline'
import { startNotes } from './http.ts'
import { startLoginServer } from './login-server.ts'

/** Ports of each, in the order of their names. */
export const LOGIN_PORTS = { issuer: 4881, login: 4882, notes: 4883 }
/** What tokens for the gateway of examples/users/cluster need. */
const SCOPE = 'mcp'

const [, file, host = '', domain = '', audience = '', lists = ''] = process.argv
if (file === import.meta.filename) await run()

async function run(): Promise<void> {
  const placeOf = (name: keyof typeof LOGIN_PORTS) => ({
    origin: `http://${name}.${domain}`,
    host,
    port: LOGIN_PORTS[name],
  })
  const issuer = await startLoginServer(600, placeOf('issuer'), SCOPE)
  const login = await startLoginServer(600, placeOf('login'))
  const refused = new Set<string>()
  const url = `${placeOf('notes').origin}/mcp`
  const admits = async (authorization = '') => {
    if (authorization === lists) return true
    const token = authorization.replace(/^Bearer /, '')
    const isKnown = () => login.verify(token, url).then(Boolean, () => false)
    return !refused.has(token) && isKnown()
  }
  const metadata = () => ({
    resource: url,
    authorization_servers: [login.issuer],
    scopes_supported: ['read'],
  })
  const notes = await startNotes('2025', admits, metadata, placeOf('notes'))
  const say = (line: object) => void process.stdout.write(`${JSON.stringify(line)}\n`)
  const [ada, ben] = await Promise.all(['ada', 'ben'].map(name => issuer.tokenFor(name, audience)))
  say({ ada, ben })
  login.onGrant(grant => say({ grant }))
  const lines = createInterface({ input: process.stdin })
  lines.on('line', () => {
    for (const { authorization = '' } of notes.requests) refused.add(authorization.replace(/^Bearer /, ''))
    say({ refused: refused.size })
  })
  lines.on('close', () => process.exit())
}
