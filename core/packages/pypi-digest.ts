/** The digest of the files that a PyPI package installed. It is the same with uv and pip; uv does not report the digest of the archive. */
import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { Fault, messageOf } from '../errors.ts'

/** A package in a virtual environment. `packages`: site-packages; `info`: the name of the folder with its metadata. */
export type InstalledFiles = { venv: string; packages: string; info: string }

/** Files that the installer writes. */
const VARYING_FILES = /\.dist-info\/(RECORD|INSTALLER|REQUESTED|WHEEL|direct_url\.json|uv_\w+\.json)$/
const COMPILED = /(^|\/)__pycache__\/[^/]+\.pyc$/
/** A line of CSV with its first field: quoted, in which a quote is doubled and line breaks may occur, or plain. */
const ROW = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(?:,(?:"[^"]*(?:""[^"]*)*"|[^",\r\n]*))*(?:\r?\n|$)/gy

/** `integrity`: undefined if the RECORD lists no files. `cleared`: the folders below site-packages whose modules are no longer compiled. */
export type Digested = { integrity: string | undefined; cleared: string[] }

/**
 * Digest of the files that the package's RECORD lists. Deletes the compiled modules beside their source: pip's differ each time, and
 * Python would run one that the wheel brings without comparing it with its source (PEP 552). Throws if the RECORD or a file that it
 * lists cannot be read, because the digest would not show a change of it.
 */
export async function takeDigest({ venv, packages, info }: InstalledFiles): Promise<Digested> {
  const names = namesOf(await readFile(join(packages, info, 'RECORD'), 'utf8'))
  const entries = await readEntryPoints(packages, info)
  const generated = [...scriptsOf(entries, 'console'), ...scriptsOf(entries, 'gui')]
  const scripts = new Set(generated.map(name => resolve(venv, 'bin', name)))
  const counts = (name: string) =>
    !isAbsolute(name) &&
    !VARYING_FILES.test(name) &&
    !COMPILED.test(name) &&
    !scripts.has(resolve(packages, name))
  const files = [...new Set(names)].filter(counts).sort()
  const digest = createHash('sha256')
  for (const name of files) {
    const content = await contentOf(resolve(packages, name), resolve(venv)).catch(cause => {
      throw new Fault('io', `The RECORD of the package lists ${name}, but: ${messageOf(cause)}`, { cause })
    })
    digest.update(`${name}\0${createHash('sha256').update(content).digest('hex')}\n`)
  }
  const deleted = await deleteCompiled(names, packages, resolve(venv))
  return {
    integrity: files.length > 0 ? `files-sha256-${digest.digest('hex')}` : undefined,
    cleared: deleted
      .map(folder => dirname(folder))
      .filter(folder => isWithin(`${folder}${sep}`, resolve(packages))),
  }
}

function namesOf(record: string): string[] {
  const rows = [...record.matchAll(ROW)]
  if (rows.map(([row]) => row).join('') !== record)
    throw new Fault('io', 'The RECORD of the package is not valid CSV.')
  return rows.map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain).filter(Boolean)
}

export function readEntryPoints(packages: string, info: string): Promise<string> {
  return readFile(join(packages, info, 'entry_points.txt'), 'utf8').catch(() => '')
}

/** Names of the scripts that the installer generates. */
export function scriptsOf(entryPoints: string, kind: 'console' | 'gui'): string[] {
  const section = new RegExp(`^\\[${kind}_scripts\\]\\s*$([\\s\\S]*?)(?=^\\[|$(?![\\s\\S]))`, 'm')
  const lines = section.exec(entryPoints)?.[1] ?? ''
  return [...lines.matchAll(/^[^\S\n]*([^\s=#;]+)[^\S\n]*=/gm)].map(match => match[1] ?? '')
}

/** In scripts, the installer replaces `#!python` by the path of the environment's Python, which is taken out again. A folder is empty. */
async function contentOf(file: string, venv: string): Promise<Buffer> {
  if (!isWithin(file, venv)) return Buffer.alloc(0)
  const content = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EISDIR') return Buffer.alloc(0)
    throw error
  })
  const bin = join(venv, 'bin')
  if (dirname(file) !== bin) return content
  // As bytes: a program need not be text. Latin-1 has a character for each.
  const path = Buffer.from(bin).toString('latin1')
  return Buffer.from(content.toString('latin1').replaceAll(path, ''), 'latin1')
}

/** Resolves with the folders that it deleted. */
async function deleteCompiled(names: readonly string[], packages: string, venv: string): Promise<string[]> {
  const folders = names.map(name =>
    resolve(packages, COMPILED.test(name) ? dirname(name) : join(dirname(name), '__pycache__')),
  )
  const within = [...new Set(folders)].filter(folder => isWithin(folder, venv))
  for (const folder of within) await rm(folder, { recursive: true, force: true })
  return within
}

function isWithin(path: string, folder: string): boolean {
  return path.startsWith(`${folder}${sep}`)
}
