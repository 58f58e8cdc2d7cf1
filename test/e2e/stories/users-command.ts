/** `portolan users` in a cluster: who has their own pod, and how to end one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runPortolan } from '../../support/portolan.ts'
import { until } from '../../support/until.ts'
import { tokenOf } from '../../users/as-user.ts'
import { callerOf } from '../support/caller.ts'
import { fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'
import { idOf, userOf } from '../support/users.ts'

const NAMES = ['ada', 'ben']

export const usersCommandStories: Stories = (running, options) => {
  test('portolan users shows who has a pod, and --end ends the pod of one user', options, async t => {
    const portolan = running()
    const space = await portolan.namespace('who-has-what', t)
    const env = { KUBECONFIG: portolan.cluster.kubeconfig }
    const portolanUsers = (...args: string[]) =>
      runPortolan(['users', ...args, '--namespace', space.name], env)
    await space.apply(
      secret('callers', Object.fromEntries(NAMES.map(name => [name, tokenOf(name)]))),
      server('kit', { ...fixture(), sessions: 'perUser' }),
      gateway('tools', { router: { replicas: 2 }, auth: { tokens: { secretName: 'callers' } } }),
    )
    await space.untilServing('tools', { ready: 1 })
    const podOf = async (name: string) =>
      (await space.pods('kit')).find(pod => userOf(pod) === idOf(name) && !pod.metadata.deletionTimestamp)
        ?.metadata.uid
    const callers = await Promise.all(
      NAMES.map(name => callerOf(portolan.cluster, space.name, 'tools', tokenOf(name))),
    )
    t.after(() => {
      for (const caller of callers) caller.stop()
    })
    const echo = () => Promise.all(callers.map(caller => caller.call('kit:echo', { text: 'here' })))
    await echo()
    const [ada, ben] = await Promise.all(NAMES.map(podOf))
    const shown = await portolanUsers()
    assert.match(
      shown.stdout,
      /kit +\w{10} +token#ada .*\nkit +\w{10} +token#ben |kit +\w{10} +token#ben .*\nkit +\w{10} +token#ada /,
      shown.stderr,
    )
    const ended = await portolanUsers('kit', 'token#ada', '--end')
    assert.deepEqual(
      [ended.code, ended.stdout],
      [0, 'ended the session, process or pod of token#ada at kit\n'],
      ended.stderr,
    )
    await until('the pod of ada is gone', async () => (await podOf('ada')) === undefined)
    assert.doesNotMatch((await portolanUsers()).stdout, /token#ada/)
    await echo()
    assert.equal(await podOf('ben'), ben)
    assert.notEqual(await podOf('ada'), ada)
  })
}
