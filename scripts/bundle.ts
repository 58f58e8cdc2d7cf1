/** `npm run build`: bundles what runs in a cluster into dist/, or into the folder given. */
import { copyFile, mkdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { buildKernel } from './kernel.mjs'

const root = dirname(import.meta.dirname)
/** Packages of the CommonJS kind ask for Node's own modules in a way that modules do not know. */
const REQUIRE = `import { createRequire as portolanRequire } from 'node:module';const require = portolanRequire(import.meta.url);`
/** A file that is read beside the source, as source code names it. */
const FILE_BESIDE = /new URL\(\s*'(\.[^']+)',\s*import\.meta\.url\s*\)/g

/**
 * Writes `bridge.cjs`, one file for any container, and `portolan.js` with its chunks, workers and data. `folder` is emptied
 * before. Equal sources give equal bytes.
 */
export async function bundle(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await buildKernel(process.execPath)
  const bridge = bundleFile(join(root, 'bridge', 'main.ts'), join(folder, 'bridge.cjs'))
  await Promise.all([bridge, bundleProgram(folder)])
}

/** Bundles a program of which nothing but one file is needed; as CommonJS (`.cjs`) it takes 9 MB less than as a module. */
export async function bundleFile(entry: string, outfile: string): Promise<void> {
  const files = new Set<string>()
  const kind: BuildOptions = outfile.endsWith('.cjs') ? { format: 'cjs', banner: {} } : {}
  await build({ ...settings(files), ...kind, entryPoints: [entry], outfile })
  if (files.size > 0) throw new Error(`${outfile} must be one file, but it reads ${[...files].join(', ')}`)
}

async function bundleProgram(folder: string): Promise<void> {
  const files = new Set<string>()
  const options = { ...settings(files), outdir: folder }
  const entryPoints = { portolan: join(root, 'cli', 'container', 'main.ts') }
  await build({ ...options, entryPoints, splitting: true, chunkNames: 'chunk-[hash]' })
  const workers = [...files].filter(isSource)
  await build({ ...options, entryPoints: Object.fromEntries(workers.map(file => [placeOf(file, ''), file])) })
  // workers have data of their own
  for (const file of [...files].filter(file => !isSource(file)))
    await copyFile(file, join(folder, basename(file)))
}

function settings(files: Set<string>): BuildOptions {
  return {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner: { js: REQUIRE },
    legalComments: 'external',
    logLevel: 'warning',
    plugins: [filesBeside(files)],
  }
}

/** Collects the files that our own sources read beside themselves, and lets them be found beside the bundle. */
function filesBeside(files: Set<string>): Plugin {
  return {
    name: 'files-beside',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8')
        const contents = text.replaceAll(FILE_BESIDE, (_whole, relative: string) => {
          const file = resolve(dirname(path), relative)
          files.add(file)
          return `new URL('./${placeOf(file, '.js')}', import.meta.url)`
        })
        return { contents, loader: 'ts' }
      })
    },
  }
}

/** A worker is bundled too; anything else stays as it is. */
function isSource(file: string): boolean {
  return file.endsWith('.ts')
}

/** The name in the bundle, `.ts` replaced. */
function placeOf(file: string, extension: string): string {
  return isSource(file) ? `${basename(file, '.ts')}${extension}` : basename(file)
}

async function main(): Promise<void> {
  const folder = resolve(process.argv[2] ?? join(root, 'dist'))
  await bundle(folder)
  process.stdout.write(`${folder}\n`)
}

if (import.meta.main) await main()
