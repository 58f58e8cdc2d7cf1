/** Looks up a name from outside in a record: names that every object inherits, such as `constructor`, are not in it. Pure. */
export function ownValue<T>(values: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return values && Object.hasOwn(values, name) ? values[name] : undefined
}
