/** Cuts texts from outside that are kept. */

/**
 * The first characters of a text, as a copy; half of a character becomes U+FFFD. `slice` makes no copy: its result keeps the whole text in
 * memory, for example a request of some megabytes.
 */
export function cut(text: string, most: number): string {
  return Buffer.from(text.slice(0, most)).toString()
}
