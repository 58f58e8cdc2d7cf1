/** Portolan on a real Kubernetes, end to end: installed with helm, used by agents in pods. The tests are in stories/. */
import { after, before } from 'node:test'
import { skipCluster } from '../cluster/available.ts'
import { clusterConfig } from '../cluster/config.ts'
import { monitoringStories } from '../monitoring/stories.ts'
import { callerStories } from './stories/callers.ts'
import { changeStories } from './stories/changes.ts'
import { conformanceStories } from './stories/conformance.ts'
import { consoleStories } from './stories/console.ts'
import { crossingStories } from './stories/crossing.ts'
import { deputyStories } from './stories/deputy.ts'
import { exampleStories } from './stories/examples.ts'
import { kindStories } from './stories/kinds.ts'
import { loginStories } from './stories/logins.ts'
import { longCallStories } from './stories/long-calls.ts'
import { meaningStories } from './stories/meaning.ts'
import { neighbourStories } from './stories/neighbours.ts'
import { packageStories } from './stories/packages.ts'
import { policyStories } from './stories/policies.ts'
import { rotationStories } from './stories/rotation.ts'
import { scriptStories } from './stories/scripts.ts'
import { sidecarStories } from './stories/sidecar.ts'
import { sleepStories } from './stories/sleep.ts'
import { stateStories } from './stories/state.ts'
import { trustStories } from './stories/trust.ts'
import { userExampleStories } from './stories/user-examples.ts'
import { userTlsStories } from './stories/user-tls.ts'
import { userVolumeStories } from './stories/user-volumes.ts'
import { usersCommandStories } from './stories/users-command.ts'
import { type Portolan, startPortolan } from './support/portolan.ts'

const START_LIMIT_MS = 290_000
const skip = clusterConfig().context ? 'an existing cluster is named: it lacks the images' : skipCluster()

let portolan: Portolan
const running = () => portolan

before(
  async () => {
    if (!skip) portolan = await startPortolan()
  },
  { timeout: START_LIMIT_MS },
)
after(() => portolan?.stop())

for (const stories of [
  exampleStories,
  changeStories,
  rotationStories,
  longCallStories,
  packageStories,
  policyStories,
  trustStories,
  deputyStories,
  kindStories,
  conformanceStories,
  meaningStories,
  stateStories,
  neighbourStories,
  scriptStories,
  sidecarStories,
  sleepStories,
  callerStories,
  crossingStories,
  consoleStories,
  userExampleStories,
  userVolumeStories,
  userTlsStories,
  usersCommandStories,
  loginStories,
  monitoringStories,
]) {
  stories(running, { skip })
}
