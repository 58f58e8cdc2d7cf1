/** Vectors of a dozen texts by the plain forward pass (oracle.ts), kept in data/vectors.json: `node known-vectors.ts FOLDER` writes them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CatalogVectors } from '../../core/catalog/server-catalog.ts'
import { packVectors, quantize, unpackVectors, type Vector } from '../../core/catalog/vectors.ts'
import { adapted } from '../../core/encoder/adapter.ts'
import { ADAPTER_ID } from '../../core/encoder/model-name.mjs'
import { readAdapter } from '../../core/encoder/read-adapter.ts'
import { readSafetensors } from '../../core/encoder/safetensors.ts'
import { createTokenizer } from '../../core/encoder/word-piece.ts'
import { plainVector } from './oracle.ts'

const FILE = join(import.meta.dirname, 'data', 'vectors.json')
const ORACLE = `all-MiniLM-L6-v2/float64/${ADAPTER_ID}`
const MAX_TOKENS = 128

export const KNOWN_TEXTS = [
  'list open pull requests',
  'wie wird das Wetter morgen in Zürich?',
  'github: create issue. Opens a new issue in a repository, with labels & assignees.',
  'k8s: get pods',
  '発送状況を確認する',
  'send_message(channel="#general", text="héllo wörld")',
  'read a file of the workspace',
  'a',
  'postgres: run query. Executes a read-only SQL statement and returns its rows as JSON.',
  'the quick brown fox jumps over the lazy dog '.repeat(6),
  '🙂 ﬁle → 50% €',
  'jira transition issue',
]

/** The vectors of the texts, by position. */
export function knownVectors(): Map<string, Vector> {
  return unpackVectors(JSON.parse(readFileSync(FILE, 'utf8')) as CatalogVectors)
}

/** `folder`: where model.safetensors and vocab.txt are. */
export function plainVectors(folder: string): CatalogVectors {
  const read = adapted(readSafetensors(readFileSync(join(folder, 'model.safetensors'))), readAdapter())
  const tokens = createTokenizer(readFileSync(join(folder, 'vocab.txt'), 'utf8'))
  const vectors = KNOWN_TEXTS.map((text, at) => {
    const vector = quantize(plainVector(read, tokens(text, MAX_TOKENS)))
    return [String(at).padStart(2, '0'), vector] as const
  })
  return packVectors(ORACLE, new Map(vectors))
}

if (import.meta.main)
  writeFileSync(FILE, `${JSON.stringify(plainVectors(process.argv[2] ?? '.'), undefined, 2)}\n`)
