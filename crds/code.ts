/** Scripts of agents at a gateway: `spec.code`. */
import * as z from 'zod'
import { labelSelector } from './core-v1.ts'
import { bytes, duration, parseBytes, parseDuration } from './quantity.ts'

const MAX_PATTERNS = 256
const pattern = z.string().min(1).max(256)

/** A field that holds a byte quantity from `least` to `most`. Portolan checks these bounds; the CRD, and so the API server, does not. */
function bytesWithin(usual: string, least: string, most: string) {
  const message = `must be between ${least} and ${most}`
  return bytes(usual)
    .refine(text => parseBytes(text) >= parseBytes(least) && parseBytes(text) <= parseBytes(most), {
      error: message,
      params: { reason: 'OutOfRange' },
    })
    .default(usual)
}

/** As `bytesWithin`, for a duration. */
function durationWithin(usual: string, least: string, most: string) {
  const message = `must be between ${least} and ${most}`
  return duration(usual)
    .refine(
      text => parseDuration(text) >= parseDuration(least) && parseDuration(text) <= parseDuration(most),
      { error: message, params: { reason: 'OutOfRange' } },
    )
    .default(usual)
}

const limits = z.strictObject({
  source: bytesWithin('64Ki', '1Ki', '256Ki').describe('Size of a script, and of its input. At most 256Ki.'),
  timeout: durationWithin('60s', '1s', '10m').describe(
    'How long a script may take, without the time in which its caller is asked. At most 10m.',
  ),
  computing: durationWithin('5s', '100ms', '60s').describe(
    'How long a script itself may compute. At most 60s.',
  ),
  memory: bytesWithin('32Mi', '8Mi', '256Mi').describe('Memory of a script. At most 256Mi.'),
  calls: z.int().min(1).max(1_000).default(100).describe('Calls of a script, reads and searches included.'),
  concurrency: z.int().min(1).max(32).default(8).describe('Calls of a script at once.'),
  result: bytesWithin('4Mi', '64Ki', '16Mi').describe(
    'Maximum size of the result of one call, and of the result of the script. All calls of a script together may return eight times as much. At most 16Mi.',
  ),
  scripts: z.int().min(1).max(32).default(4).describe('Scripts that a router runs at once.'),
  scriptsPerClient: z.int().min(1).max(32).default(2).describe('Scripts of one client at once.'),
})

export const code = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe('Whether agents may run scripts that call tools. Every profile then has one meta-tool more.'),
    tools: z
      .strictObject({
        allow: z
          .array(pattern)
          .max(MAX_PATTERNS)
          .default(['*'])
          .describe('Paths of tools that scripts may call, such as `github:get_*`.'),
        deny: z
          .array(pattern)
          .max(MAX_PATTERNS)
          .default([])
          .describe('Paths of tools that they may not call; takes precedence over `allow`.'),
        readOnly: z
          .boolean()
          .default(false)
          .describe(
            'Whether they may call only tools that are known to only read: by `tools.overrides.*.readOnly` of their McpServer, or by their hints where `tools.trustHints` is set. The meta-tool then says `readOnlyHint: true`.',
          ),
      })
      .prefault({})
      .describe('Which tools a script may call, among those that its caller may use.'),
    destructive: z
      .enum(['Ask', 'Allow', 'Refuse'])
      .default('Ask')
      .describe('What happens if a script calls a tool whose server says that it can destroy something.'),
    ask: z
      .array(pattern)
      .max(MAX_PATTERNS)
      .default([])
      .describe('Paths of further tools for which the caller is asked, such as `*:delete_*`.'),
    resultTokens: z
      .int()
      .min(100)
      .max(100_000)
      .default(4_000)
      .describe('What a script returns beyond this is kept, and shown in part.'),
    learnTypes: z
      .boolean()
      .default(true)
      .describe(
        'Whether declarations show what tools without an outputSchema were seen to return: keys and types, no values. Never where access rules give callers different views, or servers have sessions of their own for clients or users.',
      ),
    scripts: z
      .strictObject({
        selector: labelSelector.prefault({}).describe('By labels; empty selects all.'),
      })
      .prefault({})
      .describe('Which McpScripts of the namespace are offered as tools.'),
    limits: limits.prefault({}).describe('What one script may take.'),
  })
  .prefault({})
  .describe('Scripts of agents: one script calls many tools, and only its result comes back.')
