/** Tells which whole numbers of a JSON text lose digits when it is parsed. Browsers that do not tell how a number was written find none. Pure. */
import type { JsonValue } from './json.ts'

/** All whole numbers with fewer digits are exact. */
const MANY_DIGITS = /^-?\d{16,}$/
const JSON_IN_TEXT = /^\s*[[{"]/

/** Whether a whole number, such as a long id, has other digits after it was parsed. */
export function isRounded(written: string): boolean {
  return MANY_DIGITS.test(written) && digitsOf(written) !== digitsOf(Number(written).toExponential())
}

/** The digits that a number is made of, without the zeros around them. */
function digitsOf(number: string): string {
  const digits = number.replace(/e.*/, '').replace(/[-.]/g, '')
  return digits.replace(/^0+|0+$/g, '')
}

/** The value of a JSON text. Throws a RangeError if a number would be rounded. */
export function exactJson(text: string): JsonValue {
  return parsed(text, () => {
    throw new RangeError('rounded')
  })
}

/** Adds what the numbers of a JSON text, and of JSON texts in it, were rounded to. A text that is no JSON has none. */
export function addRounded(text: string, rounded: Set<number>): void {
  if (!JSON_IN_TEXT.test(text)) return
  const texts: string[] = []
  try {
    parsed(
      text,
      value => rounded.add(value),
      inner => texts.push(inner),
    )
  } catch {
    return
  }
  for (const inner of texts) addRounded(inner, rounded)
}

function parsed(
  text: string,
  onRounded: (value: number) => void,
  onText: (text: string) => void = () => {},
): JsonValue {
  return JSON.parse(text, (_key, value: unknown, written?: { source?: string }) => {
    if (typeof value === 'number' && isRounded(written?.source ?? '')) onRounded(value)
    if (typeof value === 'string') onText(value)
    return value
  }) as JsonValue
}
