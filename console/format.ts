/** Numbers, times and texts as the page shows them. Pure. */
import { reveal } from '../core/hidden-characters.ts'

const MAX_CHARACTERS = 20_000

/** A text from a server or a client, with its hidden characters made visible. A very long text is cut. */
export function plain(text: string | undefined, maxCharacters = MAX_CHARACTERS): string {
  if (text === undefined) return ''
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text
  return reveal(cut)
}

/** `12,345` */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** `1 tool`, `2 tools` */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** `0.4 ms`, `12 ms`, `3.2 s`; a dash if it is not known. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return '–'
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  return ms < 86_400_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`
}

/** How long ago: `12 s`, `5 min`, `3 h`, `2 d`; at least `1 s`. */
export function ago(at: number | undefined, now: number): string {
  if (at === undefined) return '–'
  const ms = Math.max(0, now - at)
  return ms < 2_000 ? '1 s' : duration(Math.max(ms, 1_000)).replace(/\.\d+/, '')
}

/** `12:03:07` in the browser's time zone. */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour12: false })
}

/** `94.6 %`; with one digit, displayed shares add up to about 100 %. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

/** `512 B`, `1.5 kB`, `2.0 MB`, with 1,024 bytes in a kB. */
export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`
  return value < 1 << 20 ? `${(value / 1_024).toFixed(1)} kB` : `${(value / (1 << 20)).toFixed(1)} MB`
}

/** A saving in words: `94.6 % less`, `12.0 % more`, `the same`. */
export function saving(direct: number, served: number): string {
  if (direct === 0 || direct === served) return 'the same'
  return served < direct ? `${percent(1 - served / direct)} less` : `${percent(served / direct - 1)} more`
}

/** Whether a URL may be a link. */
export function isWebUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text)
}
