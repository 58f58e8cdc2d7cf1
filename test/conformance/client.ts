/** The gateway as a client: the suite's own servers check what it sends to upstreams. */
import { join } from 'node:path'
import { type Outcome, type Revision, requiredScenarios, testClient } from './suite.ts'

const DRIVER = join(import.meta.dirname, 'client-driver.ts')

/** Runs all required scenarios that apply to a gateway, or one scenario. */
export async function testGatewayAsClient(revision: Revision, scenario?: string): Promise<Outcome> {
  const { apply, authorization } = await requiredScenarios('client', revision)
  const command = `"${process.execPath}" --disable-warning=ExperimentalWarning "${DRIVER}"`
  const outcome = await testClient(command, revision, scenario ? [scenario] : apply)
  const aside = `${authorization.length} more are about authorization and need a user at a login page, which a gateway does not have`
  return scenario ? outcome : { ...outcome, aside }
}
