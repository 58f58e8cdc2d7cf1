/** The examples, applied as the README and the guide say. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { fetchedModel } from '../../../scripts/image-root.ts'
import { discoverTools } from '../../support/mcp.ts'
import { startGateway } from '../../support/processes.ts'
import { until } from '../../support/until.ts'
import { use } from '../support/agent.ts'
import { EXAMPLES } from '../support/example-files.ts'
import { gateway } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

const META_TOOLS = ['discover_mcp_tools', 'execute_mcp_tool', 'list_mcp_resources', 'read_mcp_resource']
/** The laptop's examples that need neither local files nor hosts outside the cluster. */
const ON_BOTH = ['everything', 'sequential-thinking', 'time']
const QUERIES = ['add two numbers', 'current time in a time zone', 'think step by step', 'echo a message']

export const exampleStories: Stories = (running, options) => {
  test('an agent in a pod lists four tools of examples/cluster, finds, calls and reads', options, async t => {
    const space = await running().namespace('mcp', t)
    const files = readdirSync(join(EXAMPLES, 'cluster')).filter(name => name.endsWith('.yaml'))
    for (const file of files.sort()) await space.applyFile(join(EXAMPLES, 'cluster', file))
    const startingAgent = space.agent('tools')
    await space.untilReady('everything', 'memory', 'time')
    await space.untilSaid('learn', 'ToolsDiscovered', 'Unreachable')
    const { status } = await space.untilServing('tools', { ready: 3 })
    assert.equal(status?.servers?.selected, 4)
    assert.ok(
      Number(status?.tokens?.exposed) < 600 && Number(status?.tokens?.direct) > 2_000,
      JSON.stringify(status),
    )

    const agent = await startingAgent
    assert.deepEqual(await agent.list(), META_TOOLS)
    assert.equal((await agent.find('sum of two numbers'))[0], 'everything:get-sum')
    assert.match(await agent.call('everything:get-sum', { a: 19, b: 23 }), /42/)
    assert.match(await agent.call('time:get_current_time', { timezone: 'Europe/Lisbon' }), /Lisbon/)
    const [listed] = await agent.session(use('list_mcp_resources', { server: 'everything' }))
    const uri = /everything\|[^"\\]+/.exec(JSON.stringify(listed))?.[0]
    const [read] = await agent.session(use('read_mcp_resource', { uri }))
    assert.match(JSON.stringify(read), /"text":"[^"]+/)
  })

  test('with the same manifests, searches find the same in a cluster as on a laptop', options, async t => {
    const laptop = await startGateway(
      ON_BOTH.map(name => `examples/laptop/${name}.yaml`),
      { cache: join(tmpdir(), 'portolan-test-cache'), env: { PORTOLAN_MODEL: fetchedModel(process.env) } },
    )
    t.after(laptop.stop)
    const space = await running().namespace('as-on-the-laptop', t)
    for (const name of ON_BOTH) await space.applyFile(join(EXAMPLES, 'laptop', `${name}.yaml`))
    await space.apply(gateway('tools'))
    await space.untilReady(...ON_BOTH)
    await space.untilServing('tools', { ready: ON_BOTH.length })
    const agent = await space.agent('tools')
    const findOnLaptop = async (query: string): Promise<string[]> =>
      (await discoverTools(`${laptop.url}/mcp`, query)).tools.map(tool => tool.tool_path)
    // Vectors come a little later than tools, on either side.
    for (const query of QUERIES)
      await until(`"${query}" finds the same on both`, async () =>
        isDeepStrictEqual(await agent.find(query), await findOnLaptop(query)),
      )
    const expected = /"?timezone"?.*Tokyo/
    assert.match(await agent.call('time:get_current_time', { timezone: 'Asia/Tokyo' }), expected)
  })
}
