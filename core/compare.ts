/** Compares texts for sorting, by code units: the same order on every machine. Pure. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
