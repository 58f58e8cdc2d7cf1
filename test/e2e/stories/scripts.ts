/** Code mode in a cluster: scripts of agents in the routers' pods, and a reviewed script from manifest to answer. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { KubeObject } from '../../../core/kube/object.ts'
import { until } from '../../support/until.ts'
import { use } from '../support/agent.ts'
import { EXAMPLES } from '../support/example-files.ts'
import { gateway } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

export const scriptStories: Stories = (running, options) => {
  test(
    'an agent in a pod finds and calls a reviewed script, and runs a script that it wrote itself',
    options,
    async t => {
      const space = await running().namespace('scripts', t)
      await space.applyFile(join(EXAMPLES, 'laptop', 'everything.yaml'))
      await space.applyFile(join(EXAMPLES, 'code', 'sum-pairs.yaml'))
      await space.apply(gateway('tools', { code: { enabled: true } }))
      const agentReady = space.agent('tools')
      await space.untilReady('everything')
      await space.untilServing('tools', { ready: 1 })
      const ref = {
        apiVersion: 'portolan.dev/v1alpha1',
        kind: 'McpScript',
        namespace: 'scripts',
        name: 'sum-pairs',
      }
      await until('the script is offered', async () => {
        const found = await running().client.get<KubeObject>(ref)
        return /"reason":"Ready".*"status":"True"|"status":"True".*"reason":"Ready"/.test(
          JSON.stringify(found),
        )
      })
      const agent = await agentReady
      assert.equal((await agent.find('add up pairs of numbers'))[0], 'scripts:sum-pairs')
      assert.match(
        await agent.call('scripts:sum-pairs', {
          pairs: [
            [19, 23],
            [1, 2],
          ],
        }),
        /\[42,3\]/,
      )
      const code = 'return (await tools.scripts.sum_pairs({ pairs: [[1, 1]] }))[0] + 1'
      const [result] = await agent.session(use('run_mcp_script', { code }))
      assert.match(JSON.stringify(result), /"text":"3"/)
    },
  )
}
