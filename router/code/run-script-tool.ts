/** The meta-tool that runs a script. Each profile has it under its own name, if the gateway has code mode. */
import type { JsonObject } from '../../core/json.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import type { MetaTool, Work } from '../meta/meta-tool.ts'
import { refuse } from '../meta/wording/answers.ts'

/** `finding`: the meta-tool by which agents of the profile find tools, such as "discover_mcp_tools". */
export function runScriptTool(name: string, finding: string): MetaTool {
  return {
    definition: {
      name,
      description: `Run JavaScript that calls many tools; only what it returns comes back. The code is the body of an async function: \`const issue = await tools.github.get_issue({owner, repo, number}); return issue.title\`. Results are values, already parsed; a failing tool throws. Up to 8 calls run at once: use Promise.all. Loop, filter and join here and return little; console output is returned too. No network, files, timers or imports. ${finding} first; tools["server:tool"] and await discover("words") work too.`,
      inputSchema: {
        type: 'object',
        properties: {
          code: { type: 'string', description: 'JavaScript; type annotations are ignored' },
          input: { description: 'Any value, as `input` in the code' },
        },
        required: ['code'],
      },
    },
    call: run,
  }
}

function run(work: Work, { code: source, input }: JsonObject): McpResponse | Promise<McpResponse> {
  const { scripts, catalog } = work
  const { code } = catalog.config
  if (!scripts || !code) return refuse(work, { refusal: 'Scripts are not run here.', outcome: 'rejected' })
  if (typeof source !== 'string' || source.trim() === '')
    return refuse(work, {
      refusal:
        'code is missing: give the body of an async function, such as "return await tools.server.tool({})".',
      outcome: 'rejected',
    })
  return scripts.run(work, code, { source, input })
}
