/** The gateway as a client: what it sends to upstreams is judged by the suite's own servers. */
import { join } from 'node:path'
import { type Outcome, type Revision, requiredScenarios, testClient } from './suite.ts'

const DRIVER = join(import.meta.dirname, 'client-driver.ts')

/** All required scenarios that can be asked of a gateway, or one. */
export async function testGatewayAsClient(revision: Revision, scenario?: string): Promise<Outcome> {
  const { apply, authorization } = await requiredScenarios('client', revision)
  const command = `"${process.execPath}" --disable-warning=ExperimentalWarning "${DRIVER}"`
  const outcome = await testClient(command, revision, scenario ? [scenario] : apply)
  const aside = `${authorization.length} more, of authorization, want a user before a login page; a gateway's way upstream has none`
  return scenario ? outcome : { ...outcome, aside }
}
