/** The meta-tool that reads one resource, or the next part of a result that was cut. */
import type { MetaTool } from '../../meta-tool.ts'
import { readAsText } from '../../resources/resource-text.ts'
import { refuse } from '../../wording/answers.ts'

export const readMcpResource: MetaTool = {
  definition: {
    name: 'read_mcp_resource',
    description:
      'Read a resource by its uri from list_mcp_resources or a result; of a uriTemplate fill in the {parts}.',
    inputSchema: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
    annotations: { readOnlyHint: true },
  },
  call(work, { uri }) {
    if (typeof uri === 'string' && uri !== '') return readAsText(work, uri)
    return refuse(work, {
      refusal: 'uri is missing: give it as list_mcp_resources does, such as "server|uri".',
      outcome: 'rejected',
    })
  },
}
