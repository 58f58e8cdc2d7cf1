/** Reads an event stream as it arrives, in the form in which gateways write it: lines end with \n, and each event has one line of data. Pure. */

export type StreamEvent = { id: string; event: string; data: string }

/** Returns a function that takes the next text and returns the events that it completes. */
export function createEventReader(): (text: string) => StreamEvent[] {
  let left = ''
  return text => {
    const parts = (left + text).split('\n\n')
    left = parts.pop() ?? ''
    return parts.flatMap(part => eventOf(part) ?? [])
  }
}

/** Undefined for a comment, which only keeps the connection open. */
function eventOf(part: string): StreamEvent | undefined {
  const fields = new Map<string, string>()
  for (const line of part.split('\n')) {
    const [, name, value = ''] = /^(id|event|data): ?(.*)$/.exec(line) ?? []
    if (name !== undefined) fields.set(name, value)
  }
  const data = fields.get('data')
  return data === undefined
    ? undefined
    : { id: fields.get('id') ?? '', event: fields.get('event') ?? '', data }
}
