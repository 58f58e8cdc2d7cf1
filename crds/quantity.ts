/** Durations (`250ms`, `60s`, `1h30m`) and byte quantities (`512Ki`, `1Mi`) as they are written in manifests. Pure. */
import * as z from 'zod'

const DURATION = /^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/
const BYTES = /^[0-9]+(\.[0-9]+)?(k|M|G|Ki|Mi|Gi)?$/
const VOLUME_SIZE = /^[1-9][0-9]*(M|G|T|Mi|Gi|Ti)$/
const MAX_QUANTITY_LENGTH = 32
const MS_PER_HOUR = 3_600_000
/** A week. Node's timers end at once if they are given more than 24.8 days. */
export const MAX_DURATION_MS = 168 * MS_PER_HOUR
const MAX_BYTES = 4 * 1024 ** 3

const MS_PER_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const BYTES_PER_UNIT: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
}

/** Milliseconds of a duration that its schema has accepted; NaN for any other text. */
export function parseDuration(text: string): number {
  if (!DURATION.test(text)) return Number.NaN
  let ms = 0
  for (const [, amount, , unit] of text.matchAll(/([0-9]+(\.[0-9]+)?)(ms|s|m|h)/g)) {
    ms += Number(amount) * (MS_PER_UNIT[unit ?? ''] ?? Number.NaN)
  }
  return Math.round(ms)
}

/** Bytes of a quantity that its schema has accepted; NaN for any other text. */
export function parseBytes(text: string): number {
  const match = /^([0-9.]+)([a-zA-Z]*)$/.exec(text)
  if (!match || !BYTES.test(text)) return Number.NaN
  return Math.floor(Number(match[1]) * (BYTES_PER_UNIT[match[2] ?? ''] ?? Number.NaN))
}

/** A field that holds a duration, from 1 ms to `mostHours`, by default a week. */
export function duration(example: string, mostHours = MAX_DURATION_MS / MS_PER_HOUR) {
  const bounds = `must be more than 0 and at most ${mostHours}h`
  const message = `must be a duration with a unit (ms, s, m, h), such as "${example}"`
  return z
    .string({ error: message })
    .max(MAX_QUANTITY_LENGTH, message)
    .regex(DURATION, { error: message, abort: true })
    .refine(text => parseDuration(text) >= 1 && parseDuration(text) <= mostHours * MS_PER_HOUR, {
      error: bounds,
      params: { reason: 'OutOfRange' },
    })
    .meta({
      'x-kubernetes-validations': [
        {
          rule: onlyIf(
            DURATION,
            `duration(self) >= duration('1ms') && duration(self) <= duration('${mostHours}h')`,
          ),
          message: bounds,
        },
      ],
    })
}

/** A field that holds the size of a volume, as Kubernetes writes it. */
export function volumeSize(example: string) {
  const message = `must be a size with a unit (Mi, Gi, Ti), such as "${example}"`
  return z.string({ error: message }).max(MAX_QUANTITY_LENGTH, message).regex(VOLUME_SIZE, message)
}

/** A field that holds a byte quantity, from 1 byte to 4Gi. */
export function bytes(example: string) {
  const message = `must be a quantity of bytes in quotes, such as "${example}" (k, M, G, Ki, Mi, Gi)`
  return z
    .string({ error: message })
    .max(MAX_QUANTITY_LENGTH, message)
    .regex(BYTES, { error: message, abort: true })
    .refine(text => parseBytes(text) >= 1 && parseBytes(text) <= MAX_BYTES, {
      error: 'must be at least 1 byte and at most 4Gi',
      params: { reason: 'OutOfRange' },
    })
    .meta({
      'x-kubernetes-validations': [
        {
          rule: onlyIf(
            BYTES,
            "quantity(self).isGreaterThan(quantity('0')) && !quantity(self).isGreaterThan(quantity('4Gi'))",
          ),
          message: 'must be at least 1 byte and at most 4Gi',
        },
      ],
    })
}

/** A CEL rule that applies only to texts that match the pattern. Others already have a problem; the rule would add an error for the same field. */
function onlyIf(pattern: RegExp, rule: string): string {
  return `!self.matches(${JSON.stringify(pattern.source)}) || (${rule})`
}
