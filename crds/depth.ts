/** How deeply a value is nested. Pure. */

/** Whether lists and objects are nested more than `levels` deep. JSON.stringify and structuredClone throw if a value is nested too deeply. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(inner => isDeeper(inner, levels - 1))
}
