/** Derives names of McpServers from the names in a client config. Pure. */
import { createHash } from 'node:crypto'
import { MAX_NAME_LENGTH, NAME_PATTERN, RESERVED_NAME } from '../../crds/object-meta.ts'

const HASH_LENGTH = 6

/** A unique DNS label for each name, in the same order. Names that already are valid do not change. */
export function serverNames(names: readonly string[]): string[] {
  const taken = new Set(names.filter(isName))
  const slugs = new Map<string, number>()
  for (const name of names) slugs.set(slugOf(name), (slugs.get(slugOf(name)) ?? 0) + 1)
  return names.map(name => {
    if (isName(name)) return name
    const slug = slugOf(name)
    const free = isName(slug) && !taken.has(slug) && slugs.get(slug) === 1
    return free ? slug : withHash(slug, name)
  })
}

function isName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && name !== RESERVED_NAME && NAME_PATTERN.test(name)
}

/**
 * `Größe 2` → `grosse-2`; `21st.dev` → `mcp-21st-dev`; empty for a name without Latin letters or digits. Ends with `-`, which is not valid,
 * if it is reserved or too long: the name then gets a hash.
 */
function slugOf(name: string): string {
  const plain = name.replaceAll('ß', 'ss').normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const slug = plain.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '')
  const label = slug === '' || /^[a-z]/.test(slug) ? slug : `mcp-${slug}`
  return label === RESERVED_NAME || label.length > MAX_NAME_LENGTH ? `${label}-` : label
}

function withHash(slug: string, name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH)
  const base = slug.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1).replace(/-+$/, '')
  return `${base === '' ? 'mcp' : base}-${hash}`
}
