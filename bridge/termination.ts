/** The termination message of a container: the kubelet copies it from a file into the pod's status, where the operator reads it. */
import { truncate, writeFile } from 'node:fs/promises'
import { harmless, secretLines } from '../core/mcp/client/stdio/harmless.ts'

export type TerminationMessage = {
  /** CamelCase: CrashLooping, StartTimeout, CommandNotFound, InstallFailed, … */
  reason: string
  /** One sentence. */
  message: string
  /** The last output of the failed program, oldest line first. */
  lines: readonly string[]
}

/** The kubelet keeps 4,096 bytes. */
export const MAX_BYTES = 4_000
const MAX_FIRST_LINE_BYTES = 1_000

/** `<Reason>: <sentence>`, followed by as many of the last lines as fit; without secrets. Pure. */
export function terminationText(
  { reason, message, lines }: TerminationMessage,
  secrets: readonly string[],
): string {
  const hidden = secretLines(secrets)
  const first = cut(oneLine(`${reason}: ${harmless(message, hidden)}`), MAX_FIRST_LINE_BYTES)
  let rest = ''
  for (const line of lines.toReversed()) {
    const longer = `\n${oneLine(harmless(line, hidden))}${rest}`
    if (Buffer.byteLength(first) + Buffer.byteLength(longer) > MAX_BYTES) break
    rest = longer
  }
  return first + rest
}

/** Reports a failure to the operator. Never throws. */
export async function writeTermination(
  { terminationLog, secrets }: { terminationLog: string; secrets: readonly string[] },
  failure: TerminationMessage,
): Promise<void> {
  await replace(terminationLog, terminationText(failure, secrets))
}

/** Reports the result of a successful container to the operator, as JSON. Writes nothing if the kubelet would truncate it. */
export async function writeReport(
  { terminationLog }: { terminationLog: string },
  report: object,
): Promise<void> {
  const text = JSON.stringify(report)
  if (Buffer.byteLength(text) <= MAX_BYTES) await replace(terminationLog, text)
}

/** Writes only to an existing file: the kubelet creates it, and outside a pod nobody reads it. */
async function replace(file: string, text: string): Promise<void> {
  try {
    await truncate(file)
    await writeFile(file, text, { flag: 'r+' })
  } catch {
    // There is no such file outside a pod; the reason is also in the log.
  }
}

function oneLine(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, ' ')
}

/** A text of at most `maxBytes` in UTF-8; an ellipsis replaces what was cut off. */
function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  return bytes.length <= maxBytes
    ? text
    : `${bytes.toString('utf8', 0, maxBytes - 4).replace(/\uFFFD$/, '')}…`
}
