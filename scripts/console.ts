/** Builds the console's page from console/: its scripts and styles, named by their content, and the HTML that loads them. */
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { build, type Metafile } from 'esbuild'
import type { ConsolePage } from '../core/console/page.ts'

const root = dirname(import.meta.dirname)
const folder = join(root, 'console')
/** The path below which the router serves scripts and styles. */
const ASSETS = 'console/assets'

/** Returns the files of the page by name, `index.html` included. Equal sources give equal files. */
export async function buildConsole(): Promise<{ page: ConsolePage; metafile: Metafile }> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { app: join(folder, 'main.tsx'), style: join(folder, 'css', 'style.css') },
    outdir: join(root, 'dist', ASSETS),
    write: false,
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: ['es2024', 'chrome131', 'firefox133', 'safari18.2'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    legalComments: 'none',
    logLevel: 'warning',
  })
  const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]))
  const html = (await readFile(join(folder, 'index.html'), 'utf8'))
    .replace('STYLE', `${ASSETS}/${assetName(files, 'style', '.css')}`)
    .replace('SCRIPT', `${ASSETS}/${assetName(files, 'app', '.js')}`)
  return { page: new Map([['index.html', html], ...files]), metafile }
}

/** The name of the file that esbuild made of this entry point. */
export function assetName(files: ReadonlyMap<string, string>, start: string, end: string): string {
  const found = [...files.keys()].find(name => name.startsWith(`${start}-`) && name.endsWith(end))
  if (found === undefined) throw new Error(`esbuild has made no ${start}-*${end}`)
  return found
}
