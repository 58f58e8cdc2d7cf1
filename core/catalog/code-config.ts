/** Converts `spec.code` of a gateway for its router: durations to milliseconds, sizes to bytes. Pure. */
import type { McpGatewaySpec } from '../../crds/gateway.ts'
import { parseBytes, parseDuration } from '../../crds/quantity.ts'
import type { CodeConfig } from './router-config.ts'

export function codeConfig({
  tools,
  destructive,
  ask,
  resultTokens,
  learnTypes,
  limits,
}: McpGatewaySpec['code']): CodeConfig {
  const { calls, concurrency, scripts, scriptsPerClient } = limits
  return {
    tools,
    destructive,
    ask,
    resultTokens,
    learnTypes,
    limits: {
      sourceBytes: parseBytes(limits.source),
      timeoutMs: parseDuration(limits.timeout),
      sandboxMs: parseDuration(limits.computing),
      memoryBytes: parseBytes(limits.memory),
      calls,
      concurrency,
      resultBytes: parseBytes(limits.result),
      scripts,
      scriptsPerClient,
    },
  }
}
