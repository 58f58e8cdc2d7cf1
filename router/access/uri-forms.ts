/** What a URI may mean to a server: decoded, normalized and in other spellings, so that a rule covers all of them. Pure. */
import { percentDecoded } from '../../core/percent-decoded.ts'

export type UriForms = {
  /** The URI, and what it decodes to step by step: each must be allowed. */
  readonly spelled: readonly string[]
  /** In lower case: these and what parsers of URLs, file systems and web servers take them for. None may be denied. */
  readonly meant: readonly string[]
}

const DECODINGS = 3
const MAX_CHARACTERS = 8_192
/** Segments and characters with which a URI can leave its folder; some servers drop what follows a semicolon. */
const TREACHEROUS = /(?:^|[/\\])\.{1,2}(?:[/\\?#;]|$)|[\\\p{Cc}]/u

/** Undefined if nobody can say what the URI means: it has `.` or `..` segments, backslashes or control characters, or cannot be decoded completely. */
export function formsOf(uri: string): UriForms | undefined {
  const spelled = decodings(uri)
  if (!spelled) return undefined
  const alike = spelled.map(form => form.normalize('NFKC'))
  if ([...spelled, ...alike].some(form => TREACHEROUS.test(form))) return undefined
  const meant = alike.flatMap(form => [form, ...meaningsOf(form)])
  return { spelled, meant: [...new Set([...spelled, ...meant].map(form => form.toLowerCase()))] }
}

/** The forms of a pattern that denies, to be compared with `meant`. */
export function deniedForms(pattern: string): string[] {
  const lower = pattern.normalize('NFKC').toLowerCase()
  const decoded = percentDecoded(lower)
  return decoded === undefined || decoded === lower ? [lower] : [lower, decoded.toLowerCase()]
}

/** The URI, and the result of each decoding until nothing changes; undefined if it is too long, or that takes too many steps. */
function decodings(uri: string): string[] | undefined {
  if (uri.length > MAX_CHARACTERS) return undefined
  const forms = [uri]
  for (let step = 0; step <= DECODINGS; step++) {
    const last = forms.at(-1) as string
    const decoded = percentDecoded(last)
    if (decoded === undefined) return undefined
    if (decoded === last) return forms
    forms.push(decoded)
  }
  return undefined
}

/** What a URL is taken for: as it is parsed (WHATWG), and without credentials, port, query and fragment, with paths as file systems read them. */
function meaningsOf(form: string): string[] {
  const url = URL.parse(form)
  if (!url) return []
  const { protocol, hostname } = url
  const host = hostname.replace(/\.$/, '')
  const path = percentDecoded(url.pathname) ?? url.pathname
  const paths = [path, path.replaceAll(/;[^/]*/g, '')].flatMap(one => {
    const single = one.replaceAll(/\/{2,}/g, '/')
    return [one, single, single.replace(/(?<=.)\/$/, '')]
  })
  return [url.href, ...paths.flatMap(one => [`${protocol}//${host}${one}`, `${protocol}${one}`])]
}
